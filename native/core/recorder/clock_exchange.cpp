#include "recorder/clock_exchange.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/clock.hpp"
#include "base/context.hpp"
#include "base/error.hpp"
#include "base/thread.hpp"

namespace eventide::recorder {
namespace {

constexpr size_t token_bytes = 16;
constexpr int tries_without_answer = 3;

// A question and its answer on the wire. Both hosts run the same package on machines of one byte order.
struct Message {
    char token[token_bytes];
    int64_t sent, received, answered;
};

struct Descriptor {
    explicit Descriptor(int fd) : fd(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd(other.fd) { other.fd = -1; }
    ~Descriptor() {
        if (fd >= 0) close(fd);
    }
    int fd;
};

using Address = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Address resolve(const std::string& host, uint16_t port) {
    addrinfo wanted{}, *found = nullptr;
    wanted.ai_socktype = SOCK_DGRAM;
    const int rc = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
    if (rc) throw Error(ErrorKind::device, "cannot resolve the host '" + host + "': " + gai_strerror(rc));
    return {found, freeaddrinfo};
}

Descriptor udp_socket(const addrinfo& address) {
    Descriptor made(socket(address.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (made.fd < 0) throw Error(ErrorKind::device, std::string("cannot make a UDP socket: ") + std::strerror(errno));
    return made;
}

Message empty_message(const std::string& token) {
    Message message{};
    token.copy(message.token, token_bytes);
    return message;
}

struct Serving {
    Descriptor socket, stop;
    Message expected;
};

// It takes no lock of the interpreter, so a busy program does not delay the answers.
void* answer_until_stopped(void* argument) {
    const std::unique_ptr<Serving> mine(static_cast<Serving*>(argument));
    name_this_thread("et-clock");
    thread_context.core_thread = true;
    pollfd wait[] = {{mine->socket.fd, POLLIN, 0}, {mine->stop.fd, POLLIN, 0}};
    while (poll(wait, 2, -1) >= 0 || errno == EINTR) {
        if (wait[1].revents) break;
        sockaddr_storage from{};
        socklen_t length = sizeof from;
        Message message;
        auto* peer = reinterpret_cast<sockaddr*>(&from);
        const ssize_t got = recvfrom(mine->socket.fd, &message, sizeof message, MSG_DONTWAIT | MSG_TRUNC, peer, &length);
        message.received = now_ns();
        if (got != sizeof message || std::memcmp(message.token, mine->expected.token, token_bytes)) continue;
        message.answered = now_ns();
        sendto(mine->socket.fd, &message, sizeof message, MSG_DONTWAIT, peer, length);
    }
    return nullptr;
}

// One question; false if no answer to it comes in time.
bool ask(int fd, const Message& token, int patience_ms, ClockPair& pair) {
    Message message = token;
    const int64_t sent = message.sent = now_ns();
    if (send(fd, &message, sizeof message, 0) != sizeof message) return false;
    pollfd wait{fd, POLLIN, 0};
    for (int64_t left = patience_ms; left > 0; left = patience_ms - (now_ns() - sent) / 1'000'000) {
        if (poll(&wait, 1, int(left)) < 0 && errno != EINTR) return false;
        const ssize_t got = recv(fd, &message, sizeof message, MSG_DONTWAIT | MSG_TRUNC);
        const int64_t returned = now_ns();
        if (got < 0 && errno != EAGAIN && errno != EINTR) return false;  // no process listens at the port
        // An answer to an earlier question may be late.
        if (got != sizeof message || message.sent != sent || std::memcmp(message.token, token.token, token_bytes))
            continue;
        pair = {sent, message.received, message.answered, returned};
        return true;
    }
    return false;
}

}  // namespace

ClockServer::ClockServer(const std::string& host, const std::string& token) {
    const Address address = resolve(host, 0);
    Descriptor socket = udp_socket(*address);
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    if (bind(socket.fd, address->ai_addr, address->ai_addrlen) ||
        getsockname(socket.fd, reinterpret_cast<sockaddr*>(&own), &length))
        throw Error(ErrorKind::device, "cannot bind a UDP socket to '" + host + "': " + std::strerror(errno));
    port_ = ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(own).sin6_port
                                            : reinterpret_cast<sockaddr_in&>(own).sin_port);
    Descriptor stop(eventfd(0, EFD_CLOEXEC));
    Descriptor ours(dup(stop.fd));
    if (stop.fd < 0 || ours.fd < 0)
        throw Error(ErrorKind::device, std::string("cannot make an eventfd: ") + std::strerror(errno));
    auto serving = std::make_unique<Serving>(Serving{std::move(socket), std::move(stop), empty_message(token)});
    start_thread(answer_until_stopped, serving.get());
    serving.release();  // the thread's
    stop_ = ours.fd;
    ours.fd = -1;
}

ClockServer::~ClockServer() {
    const uint64_t one = 1;
    if (process::is_current(made_in_)) (void)!write(stop_, &one, sizeof one);  // a forked child shares the eventfd
    close(stop_);
}

std::vector<ClockPair> ask_clock(const std::string& host, uint16_t port, const std::string& token, int count,
                                 int patience_ms) {
    const Address address = resolve(host, port);
    const Descriptor socket = udp_socket(*address);
    std::vector<ClockPair> found;
    if (connect(socket.fd, address->ai_addr, address->ai_addrlen)) return found;
    const Message question = empty_message(token);
    for (int number = 0; number < count && (!found.empty() || number < tries_without_answer); ++number)
        if (ClockPair pair; ask(socket.fd, question, patience_ms, pair)) found.push_back(pair);
    return found;
}

}  // namespace eventide::recorder
