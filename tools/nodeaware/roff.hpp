#pragma once

#include <string>
#include <string_view>

namespace nodeaware::tool {

/// Text of a manual page as it grows, in the macros of man(7).
class Roff {
  public:
    /// The heading of page `name`(`section`).
    Roff(std::string_view name, int section);

    /// The line that apropos(1) reads.
    void line_of_name(std::string_view name, std::string_view doc) {
        line(escaped(name) + " \\- " + escaped(doc));
    }
    void section(std::string_view title) { heading(".SH ", title); }
    void subsection(std::string_view title) { heading(".SS ", title); }
    /// What stands between `backquotes` is bold.
    void paragraph(std::string_view text);
    /// A paragraph with what it is about hanging before it.
    void item(std::string_view about, std::string_view text);
    /// Another paragraph of the last item.
    void more(std::string_view text);
    /// Lines as they are, indented.
    void example(std::string_view text);

    const std::string& text() const { return text_; }

    static std::string escaped(std::string_view text);

  private:
    void heading(std::string_view macro, std::string_view title) {
        line(std::string(macro) + escaped(title));
        begins_ = true;
    }
    void lines(std::string_view text);
    void line(std::string_view text) { text_ += std::string(text) + "\n"; }
    std::string text_;
    bool begins_ = false; ///< a section, whose first paragraph needs no macro
};

} // namespace nodeaware::tool
