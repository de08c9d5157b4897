// control/cut_text.h
//
// Shortens text to what an API field takes, between characters and with a sign that there was more:
// a server refuses half a character, and a reader should not believe in half a sentence. Pure.
#pragma once

#include <cstddef>
#include <string>

namespace mainspring::control {

// Whatever is not UTF-8 is replaced first.
void cut_text(std::string& text, std::size_t max_bytes);

}  // namespace mainspring::control
