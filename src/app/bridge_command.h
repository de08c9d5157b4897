// app/bridge_command.h
//
// `mainspring bridge`: its flags, and the process that they describe.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace mainspring::app {

// Adds the subcommand to `line`. Where it was asked for, the function runs it and gives the exit
// code.
std::function<int()> add_bridge_command(CLI::App& line);

}  // namespace mainspring::app
