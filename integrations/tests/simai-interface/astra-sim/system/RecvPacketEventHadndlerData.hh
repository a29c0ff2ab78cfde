// What a handler of SimAI is given, as far as the front end uses it, for the tests: written for them.
#pragma once

#include "AstraNetworkAPI.hh"

namespace AstraSim {

class RecvPacketEventHadndlerData {
public:
    ncclFlowTag flowTag;
};

}  // namespace AstraSim
