#pragma once

#include <string>
#include <string_view>

/// What a job writes, of which only a little is worth keeping.
namespace nodeaware::tool::doctor {

/// The lines that have a mark in them, up to some MB.
class MarkedLines {
  public:
    explicit MarkedLines(std::string mark) : mark_(std::move(mark)) {}
    void add(std::string_view text);
    /// All of them, also one that has not ended.
    std::string text() const;

  private:
    void end_line();
    std::string mark_;
    std::string line_; ///< that has not ended, as far as it is kept
    std::string kept_;
};

/// The beginning, and the end, of a text.
class Ends {
  public:
    void add(std::string_view text);
    std::string text() const;

  private:
    std::string begin_;
    std::string end_;
    bool is_cut_ = false;
};

/// Where bytes of the text would mean something to a terminal, or end it, a '?'.
std::string without_controls(std::string text);

/// Of lines that say anything, without those of what the probe logs itself, the first two, where
/// the cause most often is, and the last.
std::string telling_words_of(const std::string& errors);

/// What the library has logged about shared memory, of the last way that was tried.
std::string memory_words_of(const std::string& errors);

} // namespace nodeaware::tool::doctor
