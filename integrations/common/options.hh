// `--name=value` and `--name value`, all of them declared; anything else is an error.
#pragma once

#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace packetloom {

class Options {
public:
    struct Option {
        const char* name;
        const char* value;  ///< without one on the command line; nullptr: the option is needed
        const char* help;
    };

    /// Throws std::runtime_error that says what is wrong. A flag (its default is "false") may stand without a value.
    Options(std::initializer_list<Option> options, int argc, char** argv) : options_(options) {
        for (const Option& option : options_)
            if (option.value != nullptr)
                values_[option.name] = option.value;
        for (int i = 1; i < argc; i++) {
            const std::string argument = argv[i];
            const std::size_t equals = argument.find('=');
            const Option& option = find(argument.substr(0, equals));
            const bool is_flag = option.value != nullptr && std::string(option.value) == "false";
            if (equals != std::string::npos)
                values_[option.name] = argument.substr(equals + 1);
            else if (is_flag)
                values_[option.name] = "true";
            else if (i + 1 < argc)
                values_[option.name] = argv[++i];
            else
                throw std::runtime_error(argument + " needs a value\n" + help());
        }
        for (const Option& option : options_)
            if (values_.count(option.name) == 0)
                throw std::runtime_error(std::string("--") + option.name + " is needed\n" + help());
    }

    const std::string& text(const std::string& name) const { return values_.at(name); }
    bool flag(const std::string& name) const { return text(name) == "true"; }

    double number(const std::string& name) const {
        std::size_t read = 0;
        try {
            const double value = std::stod(text(name), &read);
            if (read == text(name).size())
                return value;
        } catch (const std::logic_error&) {
        }
        throw std::runtime_error("--" + name + ": " + text(name) + " is no number");
    }

    int whole(const std::string& name) const {
        const double value = number(name);
        if (value != static_cast<int>(value))
            throw std::runtime_error("--" + name + ": write a whole number");
        return static_cast<int>(value);
    }

private:
    const Option& find(const std::string& argument) const {
        for (const Option& option : options_)
            if (argument == std::string("--") + option.name)
                return option;
        throw std::runtime_error("there is no option " + argument + "\n" + help());
    }

    std::string help() const {
        std::string text = "options:";
        for (const Option& option : options_)
            text += std::string("\n  --") + option.name + "  " + option.help;
        return text;
    }

    std::vector<Option> options_;
    std::map<std::string, std::string> values_;
};

}  // namespace packetloom
