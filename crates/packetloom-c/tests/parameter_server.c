/* A parameter server: workers send their gradients to host 0, which answers when it has all of a round. Then what a
 * program may get wrong. Compiled and run by tests/python/test_c_library.py against the library of `make library`. */
#include "packetloom.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(holds) \
    do { \
        if (!(holds)) { \
            fprintf(stderr, "line %d: %s; last error: %s\n", __LINE__, #holds, packetloom_error()); \
            exit(1); \
        } \
    } while (0)

static const char scenario[] =
    "[topology]\nkind = \"rack\"\nhosts = 5\nlink = { rate = \"100Gbps\", delay = \"1us\" }\n"
    "[[scheme]]\nname = \"one\"\ntransport = \"dctcp\"\nqueue = { kind = \"ecn\", capacity = \"225KB\" }\n";

enum { WORKERS = 4, ROUNDS = 3, GRADIENT = 1, WEIGHTS = 2 };

static packetloom_network open_network(void)
{
    packetloom_network network = 0;
    CHECK(packetloom_open(scenario, NULL, PACKETLOOM_AUDIT, &network) == 0 && network != 0);
    return network;
}

static void send_all(packetloom_network network, uint64_t tag)
{
    packetloom_message messages[WORKERS];
    memset(messages, 0, sizeof messages);
    for (uint32_t worker = 1; worker <= WORKERS; worker++) {
        packetloom_message *message = &messages[worker - 1];
        message->src = tag == GRADIENT ? worker : 0;
        message->dst = tag == GRADIENT ? 0 : worker;
        message->bytes = 1000000;
        message->tag = tag;
        message->user = worker;
    }
    CHECK(packetloom_send(network, messages, WORKERS, NULL) == 0);
}

static void serve(const char *table)
{
    packetloom_network network = open_network();
    packetloom_event event;
    uint32_t hosts = 0;
    uint64_t now = 0, before = 0;
    int round = 0, gradients = 0, weights = 0, kind;
    CHECK(packetloom_hosts(network, &hosts) == 0 && hosts == WORKERS + 1);
    send_all(network, GRADIENT);
    while ((kind = packetloom_next(network, PACKETLOOM_FOREVER, &event)) < PACKETLOOM_REACHED) {
        CHECK(kind > 0 && (uint32_t)kind == event.kind && event.at_ps >= before);
        CHECK(packetloom_now(network, &now) == 0 && now == event.at_ps);
        before = now;
        if (kind != PACKETLOOM_RECEIVED)
            continue;
        CHECK(event.bytes == 1000000 && event.user == (event.tag == GRADIENT ? event.src : event.dst));
        if (event.tag == GRADIENT && ++gradients == WORKERS) {
            gradients = 0;
            send_all(network, WEIGHTS);
        } else if (event.tag == WEIGHTS && ++weights == WORKERS) {
            weights = 0;
            if (++round < ROUNDS)
                send_all(network, GRADIENT);
        }
    }
    CHECK(kind == PACKETLOOM_END && round == ROUNDS);
    /* 4 MB and their headers through a link of 100 Gb/s, twice a round. */
    CHECK(now > 2 * ROUNDS * 320000000ull && now < 2 * ROUNDS * 500000000ull);
    printf("%llu\n", (unsigned long long)now);
    CHECK(packetloom_finish(network, table) == 0);
}

/* What switches are like, and other values for what transports and they do. */
static void look_and_set(void)
{
    packetloom_network network = open_network();
    packetloom_event event;
    packetloom_port ports[WORKERS + 1];
    uint32_t first, end, worker = 1, none = WORKERS + 2;
    uint64_t at, queued = 0, marks = 0;
    size_t count = 0;
    CHECK(packetloom_switches(network, &first, &end) == 0 && first == WORKERS + 1 && end == WORKERS + 2);
    CHECK(packetloom_switch_ports(network, NULL, 0, &count, NULL) == 0 && count == WORKERS + 1);
    CHECK(packetloom_set(network, "transport.g", "0.5", &worker, 1) == 0);
    CHECK(packetloom_set(network, "queue.mark_above", "20KB", NULL, 0) == 0);
    send_all(network, GRADIENT);
    CHECK(packetloom_next(network, 100000000, &event) == PACKETLOOM_REACHED);
    CHECK(packetloom_switch_ports(network, ports, WORKERS + 1, &count, &at) == 0 && at > 90000000 && at <= 100000000);
    for (size_t i = 0; i < count; i++) {
        CHECK(ports[i].node == first);
        queued += ports[i].queued_bytes;
        marks += ports[i].marks;
    }
    CHECK(queued > 0 && queued < 225000 && marks > 0);
    CHECK(packetloom_switch_ports(network, NULL, 1, NULL, NULL) == PACKETLOOM_WRONG_ARGUMENT);
    CHECK(packetloom_set(network, "g", "0.5", NULL, 0) == PACKETLOOM_WRONG_ARGUMENT);
    CHECK(strstr(packetloom_error(), "write transport.NAME, queue.NAME or routing.NAME"));
    CHECK(packetloom_set(network, "transport.g", "2", NULL, 0) == PACKETLOOM_WRONG_ARGUMENT);
    CHECK(packetloom_set(network, "transport.header", "0B", NULL, 0) == PACKETLOOM_WRONG_ARGUMENT);
    CHECK(packetloom_set(network, "transport.g", "0.5", &none, 1) == PACKETLOOM_WRONG_ARGUMENT);
    CHECK(packetloom_set(network, "transport.g", "0.5", NULL, 1) == PACKETLOOM_WRONG_ARGUMENT);
    CHECK(packetloom_set(network, "transport.g", NULL, NULL, 0) == PACKETLOOM_WRONG_ARGUMENT);
    CHECK(packetloom_close(network) == 0);
}

static void *from_another_thread(void *network)
{
    uint64_t now;
    static int code;
    code = packetloom_now(*(packetloom_network *)network, &now);
    CHECK(strstr(packetloom_error(), "another thread"));
    return &code;
}

static void be_wrong(void)
{
    packetloom_network network = open_network();
    packetloom_event event;
    packetloom_progress progress;
    packetloom_message sound = {.src = 0, .dst = 1, .bytes = 100000000};
    packetloom_message wrong[2] = {sound, sound};
    uint64_t id = 7;
    CHECK(packetloom_send(network, &sound, 1, &id) == 0 && id == 0);
    wrong[1].dst = 5;
    CHECK(packetloom_send(network, wrong, 2, &id) == PACKETLOOM_WRONG_ARGUMENT);
    CHECK(strstr(packetloom_error(), "dst: there is no host 5; write 0 to 4"));
    wrong[1] = sound;
    wrong[1].bytes = 1ull << 63;
    CHECK(packetloom_send(network, wrong, 2, &id) == PACKETLOOM_WRONG_ARGUMENT);
    wrong[1] = sound;
    wrong[1].traffic_class = 256;
    CHECK(packetloom_send(network, wrong, 2, &id) == PACKETLOOM_WRONG_ARGUMENT);
    wrong[1] = sound;
    wrong[1].delay_ps = UINT64_MAX;
    CHECK(packetloom_send(network, wrong, 2, &id) == PACKETLOOM_WRONG_ARGUMENT);
    CHECK(packetloom_send(network, NULL, 1, &id) == PACKETLOOM_WRONG_ARGUMENT);
    CHECK(packetloom_send(network, &sound, SIZE_MAX, &id) == PACKETLOOM_WRONG_ARGUMENT);
    CHECK(packetloom_send(network, NULL, 0, NULL) == 0);
    CHECK(packetloom_next(network, 1000000000, NULL) == PACKETLOOM_WRONG_ARGUMENT);
    CHECK(packetloom_next(network, 1000000000, &event) == PACKETLOOM_REACHED);
    CHECK(packetloom_next(network, 999999999, &event) == PACKETLOOM_WRONG_ARGUMENT);
    CHECK(strstr(packetloom_error(), "has passed"));
    CHECK(packetloom_timer(network, 5, 0, NULL) == PACKETLOOM_WRONG_ARGUMENT);
    CHECK(packetloom_timer(network, PACKETLOOM_FOREVER, 0, NULL) == PACKETLOOM_WRONG_ARGUMENT);
    CHECK(packetloom_message_progress(network, 0, &progress) == 1 && progress.arrived_bytes > 0);
    CHECK(progress.window_bytes > 0 && isnan(progress.rate_bps) && progress.rtt_ns > 2000);
    CHECK(packetloom_message_progress(network, 1, &progress) == 0);
    pthread_t other;
    void *code;
    CHECK(pthread_create(&other, NULL, from_another_thread, &network) == 0);
    CHECK(pthread_join(other, &code) == 0 && *(int *)code == PACKETLOOM_NO_NETWORK);
    CHECK(packetloom_finish(network, "/nowhere/at/all") == PACKETLOOM_WRONG_ARGUMENT);
    CHECK(packetloom_close(network) == PACKETLOOM_NO_NETWORK);
    CHECK(packetloom_next(network, 2000000000, &event) == PACKETLOOM_NO_NETWORK);
    CHECK(packetloom_close(0) == PACKETLOOM_NO_NETWORK);
    CHECK(packetloom_open(NULL, NULL, 0, &network) == PACKETLOOM_WRONG_ARGUMENT);
    CHECK(packetloom_open(scenario, NULL, 0, NULL) == PACKETLOOM_WRONG_ARGUMENT);
    CHECK(packetloom_open(scenario, NULL, 4, &network) == PACKETLOOM_WRONG_ARGUMENT);
    CHECK(packetloom_open("[topology]\nkind = \"rakc\"", NULL, 0, &network) == PACKETLOOM_WRONG_SCENARIO);
    CHECK(strstr(packetloom_error(), "scenario:2: topology: unknown topology kind"));
    CHECK(packetloom_open_file("/nowhere.toml", 0, &network) == PACKETLOOM_WRONG_SCENARIO);
    CHECK(strstr(packetloom_error(), "/nowhere.toml: cannot read"));
}

int main(int count, char **arguments)
{
    CHECK(packetloom_abi() == PACKETLOOM_ABI);
    CHECK(strlen(packetloom_version()) > 0);
    serve(count > 1 ? arguments[1] : NULL);
    serve(NULL);
    look_and_set();
    be_wrong();
    return 0;
}
