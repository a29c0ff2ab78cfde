// SimAI's system layer is compiled as for its ns-3 back end (NS3_MTP), since it sets up NCCL's groups only then. It
// includes this file and uses nothing of it.
#pragma once
