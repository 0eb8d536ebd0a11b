#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nodeaware::tuning {

/// Decides by which of several candidates the calls of one operation on one communicator go: first
/// by what the model says, then by what was measured. Every rank has a learner of its own, and all
/// decide alike, because they decide by the number of calls and by agreed numbers alone.
///
/// At the calls 3, 12, 48, ... (agrees_now()) the ranks reduce their report() to its maxima and
/// pass these to agree(). The calls right after may be given to candidates to be measured: so many
/// that they are expected to cost no more than `learning_share` of the time of all calls until the
/// next agreement. Where many calls are to come until then, the ranks agree on what was measured as
/// soon as it is, too.
class Learner {
  public:
    static constexpr int rounds = 3;               ///< measurements of a candidate at a time
    static constexpr double learning_share = 0.05; ///< of the time, at most
    /// Of the time of the one in use: by what the model says, and measured in turn.
    static constexpr double worth_a_change = 0.95;
    static constexpr double measurably_better = 0.98;
    static constexpr uint64_t first_agreement = 3; ///< call; each later one comes at 4 times that
    static constexpr uint64_t agreement_factor = 4;
    static constexpr uint64_t many_calls = 100; ///< an agreement more takes less of their time

    /// `initial`: the candidate that calls go by before anything is agreed.
    Learner(const std::vector<std::string_view>& names, size_t initial);

    /// Of the candidates with one number, unless it is negative, those for which the same is
    /// predicted are thought to do the same. To be called before the first call, with a number for
    /// each.
    void set_kinds(std::span<const int> kinds);
    /// To be called on all ranks alike: it is another from now on, of which nothing is known yet;
    /// or it is not possible.
    void change(size_t candidate, bool is_possible);

    /// To be called at the begin of each call, before anything else.
    void begin_call() { ++calls_; }
    /// In this call, and before it goes anywhere, the ranks have to agree.
    bool agrees_now() const { return calls_ == next_agreement_; }
    /// What this rank knows: predicted and measured seconds; the same length on all ranks.
    std::vector<double> report() const;
    /// `maxima`: of all ranks' reports.
    void agree(std::span<const double> maxima);
    /// How long this rank waited in that reduction: starting together may take no longer, which
    /// counts from the next agreement on until it is known.
    void add_wait(double seconds) { wait_ = seconds; }

    /// To be called on all ranks right after agree(): the calls from now on are of another kind,
    /// and what is known of those before tells nothing of them. `initial` as above. The next
    /// agreement comes after as many calls as the first.
    void begin_again(size_t initial);

    /// To be called before the first call: they all go by that candidate, and nothing is agreed or
    /// measured.
    void settle(size_t candidate) {
        best_ = candidate;
        next_agreement_ = never;
    }

    /// The candidate for this call.
    size_t choice() const;
    /// All ranks should start this call together, and pass its time to add_time(). `preparation`:
    /// what it took to start together.
    bool measures() const { return next_measurement_ < plan_.size(); }
    void add_time(double seconds, double preparation);
    /// The times that the model predicts for this rank; infinity: not possible.
    void set_predictions(std::span<const double> seconds);

    size_t best() const { return best_; }
    bool is_settled() const { return next_agreement_ == never; }
    /// Seconds of a call by it; nothing: not measured.
    std::optional<double> best_measured() const { return candidates_[best_].measured; }
    /// Seconds that measured calls took beyond those of the best candidate, and that it took to
    /// start them together, as far as agreed.
    double cost_of_learning() const { return spent_; }
    /// A line for each candidate: times, and why it lost.
    std::string explain() const;

  private:
    static constexpr uint64_t never = ~uint64_t{0};
    struct Candidate {
        std::string_view name;
        double predicted = 0;           ///< by this rank, 0: not yet
        double agreed_prediction = 0;   ///< 0: not yet
        std::optional<double> measured; ///< agreed
        int agreements_ago = 0;    ///< at which measurements were planned, since it was measured
        std::vector<double> times; ///< of this rank, since the last agreement
        int kind = -1;             ///< negative: like no other
        bool is_possible = true;
        bool is_repeated = false; ///< another one that does the same stands for it
    };

    void take_in(std::span<const double> maxima);
    void find_repeated();
    void choose_best();
    void plan_measurements();
    double expected(const Candidate& candidate) const;

    std::vector<Candidate> candidates_;
    size_t best_;
    uint64_t calls_ = 0;
    uint64_t next_agreement_ = first_agreement;
    uint64_t next_plan_ = first_agreement; ///< the agreement at which measurements are planned
    std::vector<size_t> plan_;             ///< candidates of the measured calls, in their order
    size_t next_measurement_ = 0;
    double budget_ = 0; ///< seconds that may be spent on learning
    double spent_ = 0;
    double preparation_ = 0;                 ///< of this rank, since the last agreement
    double wait_ = 0;                        ///< of this rank, at the last agreement
    std::optional<double> call_preparation_; ///< agreed, of one call
    std::optional<double> agreed_wait_;      ///< the longest of the last agreement but one
};

} // namespace nodeaware::tuning
