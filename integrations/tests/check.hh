// A check that names what does not hold, and ends the program.
#pragma once

#include <cstdlib>
#include <iostream>

#define CHECK(holds)                                                                        \
    do {                                                                                    \
        if (!(holds)) {                                                                     \
            std::cerr << __FILE__ << ":" << __LINE__ << ": " << #holds << std::endl;        \
            std::exit(1);                                                                   \
        }                                                                                   \
    } while (0)
