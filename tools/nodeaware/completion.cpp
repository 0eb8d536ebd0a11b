#include "tools/nodeaware/completion.hpp"

namespace nodeaware::tool {

namespace {

/// The names that the program is installed under.
constexpr const char* program_names = "nodeaware nodeaware-openmpi nodeaware-mpich nodeaware-abi";

/// Finds the command and the option before the word.
constexpr const char* bash_beginning = R"(
_nodeaware() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' words i
    COMPREPLY=()
    # --option=VALUE is three words.
    if [[ $word == '=' ]]; then
        word=''
    elif [[ $before == '=' ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; ++i)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then
            # Somebody else's command line.
            if declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
            elif ((COMP_CWORD == i + 1)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$word")
            fi
            return
        fi
        if [[ -z $command && ${COMP_WORDS[i]} != -* ]]; then command=${COMP_WORDS[i]}; fi
    done
    case $command:$before in
)";

std::string joined(const std::vector<std::string>& words, std::string_view separator = " ") {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : std::string(separator)) + word;
    }
    return text;
}

std::string in_quotes(std::string_view text) {
    std::string result = "'";
    for (const char c : text) { result += c == '\'' ? std::string("'\\''") : std::string(1, c); }
    return result + "'";
}

/// With a backslash before each of `special`, and before backslashes.
std::string guarded(std::string_view text, std::string_view special) {
    std::string result;
    for (const char c : text) {
        if (c == '\\' || special.find(c) != std::string_view::npos) { result += '\\'; }
        result += c;
    }
    return result;
}

std::string names_of(const std::vector<DescribedCommand>& commands) {
    std::string names;
    for (size_t i = 1; i < commands.size(); ++i) { names += commands[i].name + " "; }
    return names;
}

std::string flags_of(const DescribedCommand& command) {
    std::string flags;
    for (const DescribedOption& option : command.options) {
        if (!option.flags.empty()) { flags += joined(option.flags) + " "; }
    }
    return flags;
}

/// Cases of COMMAND:OPTION for what may follow an option; nothing for what has no fixed set.
std::string bash_values(const DescribedCommand& command) {
    std::string cases;
    std::vector<std::string> others;
    for (const DescribedOption& option : command.options) {
        if (option.argument.empty()) { continue; }
        for (const std::string& flag : option.flags) {
            const std::string pattern = command.name + ":" + flag;
            if (option.values.empty()) {
                others.push_back(pattern);
            } else {
                cases +=
                    "        " + pattern + ") words=" + in_quotes(joined(option.values)) + " ;;\n";
            }
        }
    }
    if (!others.empty()) { cases += "        " + joined(others, " | ") + ") words='' ;;\n"; }
    return cases;
}

/// What zsh does for a value: files may be meant by any text.
std::string zsh_action(const DescribedOption& option) {
    if (!option.values.empty()) { return "(" + joined(option.values) + ")"; }
    const std::string& kind = option.argument;
    return kind == "INT" || kind == "UINT" || kind == "FLOAT" ? " " : "_files";
}

std::string zsh_option(const DescribedOption& option) {
    const std::string doc = "[" + guarded(option.doc, "[]:") + "]";
    const std::string name = guarded(option.argument, ":");
    if (option.flags.empty()) { return in_quotes(":" + name + ":_files"); }
    const std::string value = option.argument.empty() ? "" : ":" + name + ":" + zsh_action(option);
    std::vector<std::string> specs;
    for (const std::string& flag : option.flags) {
        std::string spec = flag;
        if (!value.empty() && flag.starts_with("--")) { spec += '='; }
        spec += doc;
        spec += value;
        specs.push_back(in_quotes(spec));
    }
    return joined(specs);
}

std::string zsh_options(const DescribedCommand& command) {
    std::string lines;
    for (const DescribedOption& option : command.options) {
        lines += " \\\n                    " + zsh_option(option);
    }
    return lines;
}

} // namespace

std::string bash_completion(const std::vector<DescribedCommand>& commands) {
    std::string text =
        std::string("# Completion of nodeaware " NODEAWARE_VERSION " for bash.\n") + bash_beginning;
    for (const DescribedCommand& command : commands) {
        // The program itself takes values of no option.
        if (&command != &commands.front()) { text += bash_values(command); }
    }
    text += "        *)\n            case $command in\n";
    text +=
        "                '') words=" + in_quotes(names_of(commands) + flags_of(commands.front())) +
        " ;;\n";
    for (size_t i = 1; i < commands.size(); ++i) {
        text += "                " + commands[i].name + ") words=" +
                in_quotes(flags_of(commands[i]) + (commands[i].takes_command_line ? "--" : "")) +
                " ;;\n";
    }
    text += R"(                *) words='' ;;
            esac
            # Else names of files.
            if [[ -n $command && $word != -* ]]; then words=''; fi
            ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
)";
    return text + "complete -o default -F _nodeaware " + program_names + "\n";
}

std::string zsh_completion(const std::vector<DescribedCommand>& commands) {
    std::string text = std::string("#compdef ") + program_names + "\n" +
                       "# Completion of nodeaware " NODEAWARE_VERSION " for zsh.\n"
                       R"(
_nodeaware() {
    local curcontext=$curcontext state line dashes=${words[(i)--]}
    typeset -A opt_args
    if ((dashes < CURRENT)); then
        # Somebody else's command line.
        shift $dashes words
        ((CURRENT -= dashes))
        _normal
        return
    fi
    _arguments -C)";
    for (const DescribedOption& option : commands.front().options) {
        text += " \\\n        " + zsh_option(option);
    }
    text += R"( \
        '1:command:->command' '*::argument:->argument'
    case $state in
        command)
            local -a commands
            commands=(
)";
    for (size_t i = 1; i < commands.size(); ++i) {
        text += "                " +
                in_quotes(commands[i].name + ":" + guarded(commands[i].doc, ":")) + "\n";
    }
    text += R"(            )
            _describe command commands
            ;;
        argument)
            case $line[1] in
)";
    for (size_t i = 1; i < commands.size(); ++i) {
        text += "                " + commands[i].name + ")\n                    _arguments" +
                zsh_options(commands[i]) + " ;;\n";
    }
    return text + R"(            esac
            ;;
    esac
}

_nodeaware "$@"
)";
}

} // namespace nodeaware::tool
