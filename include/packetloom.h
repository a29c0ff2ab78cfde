/* packetloom.h: a network that a program sends messages over while packetloom simulates it, packet by packet.
 *
 * Open a scenario without traffic, send messages, set timers, and ask again and again for what happens next. Nothing
 * calls the caller. docs/network.md says what comes in which order.
 *
 *     packetloom_network network;
 *     packetloom_event event;
 *     if (packetloom_open_file("fabric.toml", 0, &network) < 0) fail(packetloom_error());
 *     packetloom_message hello = {.src = 0, .dst = 1, .bytes = 1000000};
 *     packetloom_send(network, &hello, 1, NULL);
 *     while (packetloom_next(network, PACKETLOOM_FOREVER, &event) < PACKETLOOM_REACHED) handle(&event);
 *     packetloom_finish(network, "flows.csv");
 *
 * A function that fails returns a negative number, changes nothing, and leaves a text for packetloom_error. A network
 * belongs to the thread that opened it: for any other thread, and once it is closed, its handle names no network, which
 * is an error like any other. */
#ifndef PACKETLOOM_H
#define PACKETLOOM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface: of the functions, the structures and the numbers below. It changes only when a program
 * has to be compiled anew; compare it with packetloom_abi(). */
#define PACKETLOOM_ABI 1

/* Picoseconds of simulated time that never come. */
#define PACKETLOOM_FOREVER UINT64_MAX

/* A network; 0 is none. */
typedef uint64_t packetloom_network;

/* Errors. */
enum {
    PACKETLOOM_WRONG_SCENARIO = -1, /* of packetloom_open: the text names the line */
    PACKETLOOM_WRONG_ARGUMENT = -2,
    PACKETLOOM_NO_NETWORK = -3,     /* closed, or another thread's */
    PACKETLOOM_BROKEN = -4          /* a fault of packetloom; the run is worth nothing */
};

/* What packetloom_next returns: an event, or why there is none. */
enum {
    PACKETLOOM_SENT = 1,     /* the sender is done with a message */
    PACKETLOOM_RECEIVED = 2, /* all of a message has arrived */
    PACKETLOOM_TIMER = 3,    /* a timer went off */
    PACKETLOOM_REACHED = 4,  /* nothing more happens until the time that was given */
    PACKETLOOM_END = 5,      /* all messages are over and no timer is set, or the scenario's max_time is reached */
    PACKETLOOM_STALLED = 6   /* messages never come to their ends; packetloom_error says which, and why */
};

/* Flags of packetloom_open. */
enum {
    PACKETLOOM_JSON = 1, /* the scenario is JSON, not TOML */
    PACKETLOOM_AUDIT = 2 /* check the invariants of the run, which takes several times as long */
};
/* Among them, how many threads simulate, up to 255. Results do not depend on it; docs/network.md says what it gains. */
#define PACKETLOOM_THREADS(count) ((uint32_t)(count) << 8)

typedef struct {
    uint32_t src;      /* hosts, from 0 */
    uint32_t dst;      /* may be src: then the message crosses no link, and is over when it starts */
    uint64_t bytes;    /* may be 0: the same */
    uint64_t tag;      /* the caller's; comes back with the events */
    uint64_t user;     /* the caller's; comes back with the events */
    uint64_t delay_ps; /* how long after the present time it starts */
    uint32_t channel;  /* the caller's; comes back with the events */
    uint32_t traffic_class; /* for queues that know classes, 0 to 255 */
} packetloom_message;

typedef struct {
    uint32_t kind;    /* PACKETLOOM_SENT, PACKETLOOM_RECEIVED or PACKETLOOM_TIMER */
    uint32_t channel; /* the message's; of a timer, this and what has its sort are 0 */
    uint64_t at_ps;   /* when: the present time now */
    uint64_t id;      /* the number of the message, or of the timer */
    uint64_t user;    /* as given with the message or the timer */
    uint64_t tag;     /* the message's */
    uint64_t bytes;   /* the message's */
    uint32_t src;     /* the message's */
    uint32_t dst;     /* the message's */
} packetloom_event;

/* How far a message is at its sender. */
typedef struct {
    uint64_t arrived_bytes;   /* known to have arrived */
    uint64_t in_flight_bytes; /* held to be in flight */
    double window_bytes;      /* the congestion window; NaN of a scheme without one */
    double rate_bps;          /* how fast packets may leave; NaN of a scheme without a rate */
    double rtt_ns;            /* NaN where it is not measured, or not yet */
    uint32_t retransmissions; /* packets sent again so far */
    uint32_t reserved;
} packetloom_progress;

/* What the port of a switch was like as the engine's last window ended. */
typedef struct {
    uint32_t link;         /* the link that it sends onto */
    uint32_t node;         /* the switch, among the network's nodes: hosts come first */
    uint64_t queued_bytes; /* what waits; 0 where that is not known */
    uint64_t sent_bytes;   /* so far, like the two below */
    uint64_t marks;        /* packets that were marked */
    uint64_t drops;        /* packets that were dropped */
} packetloom_port;

/* PACKETLOOM_ABI of the library, and its version as text. */
uint32_t packetloom_abi(void);
const char *packetloom_version(void);

/* The text of this thread's last error; valid until this thread's next call. */
const char *packetloom_error(void);

/* Opens the network of a scenario, which has no [[workload]] and spans one case. Files that it names are sought in
 * `directory` (NULL: the present one). */
int packetloom_open(const char *scenario, const char *directory, uint32_t flags, packetloom_network *network);

/* The same for a scenario in a file: JSON if it is called so, else TOML. */
int packetloom_open_file(const char *path, uint32_t flags, packetloom_network *network);

/* Closes a network without an outcome. */
int packetloom_close(packetloom_network network);

/* How many hosts there are. */
int packetloom_hosts(packetloom_network network, uint32_t *hosts);

/* The present time. */
int packetloom_now(packetloom_network network, uint64_t *now_ps);

/* Sends messages; their numbers follow each other, and `first_id`, which may be NULL, gets the first of them. If one
 * can't be sent, none is. */
int packetloom_send(packetloom_network network, const packetloom_message *messages, size_t count, uint64_t *first_id);

/* Sets a timer; `id`, which may be NULL, gets its number. */
int packetloom_timer(packetloom_network network, uint64_t at_ps, uint64_t user, uint64_t *id);

/* Goes on to what happens next, but not beyond `until_ps`. Returns what: of an event `event` has all. */
int packetloom_next(packetloom_network network, uint64_t until_ps, packetloom_event *event);

/* How far a message is; returns 1, or 0 of one that has not started, or whose sender is done, or has no such state. */
int packetloom_message_progress(packetloom_network network, uint64_t id, packetloom_progress *progress);

/* Which nodes are switches: the first of them, and the one after the last. */
int packetloom_switches(packetloom_network network, uint32_t *first, uint32_t *end);

/* Copies the ports of switches, `most` of them at most, in the order of their links. `count` gets how many there are,
 * `at_ps` when they were like this; both may be NULL. */
int packetloom_switch_ports(packetloom_network network, packetloom_port *ports, size_t most, size_t *count,
                            uint64_t *at_ps);

/* Sets a parameter at the present time: of hosts' transports (`key` is "transport.g", say), of switches' queues
 * ("queue.mark_above"), or of the routing where it goes by them ("routing.flowlet_gap"), to a value as in a scenario
 * ("0.5", "20KB"). `nodes` are `count` hosts or switches; NULL and 0: all. docs/network.md says what may be set, and
 * when it acts. */
int packetloom_set(packetloom_network network, const char *key, const char *value, const uint32_t *nodes, size_t count);

/* Ends the run and closes the network. If all messages are over, what they left under way comes to rest; if not, they
 * stay unfinished. Writes the table of flows as CSV to a file, unless `path` is NULL. */
int packetloom_finish(packetloom_network network, const char *path);

#ifdef __cplusplus
}
#endif

#endif
