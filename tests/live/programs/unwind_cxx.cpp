// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// unwind_cxx OUT COUNT US: sleeps in virtual calls, a handler, a destructor run by an exception, a std::thread.
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <unistd.h>

extern "C" {
void truth_open(const char *path);
void truth_ready(const int *pids, size_t cnt);
void truth_done(void);
void truth_printf(const char *format, ...);
int truth_gettid(void);
}

#if defined(__clang__)
#define SITE __attribute__((noinline))
#else
#define SITE __attribute__((noinline, noipa))
#endif

namespace shapes {

static std::uint64_t count;
static long nap_ns;
static volatile unsigned sink;

SITE void nap_site()
{
	struct timespec ts = {0, nap_ns};

	nanosleep(&ts, nullptr);
	sink = sink + 1;
}

struct Shape {
	virtual ~Shape() = default;
	virtual void draw(int depth) = 0;
};

struct Circle : Shape {
	SITE void draw(int) override
	{
		nap_site();
		sink = sink + 1;
	}
};

struct Group : Shape {
	std::unique_ptr<Shape> inner = std::make_unique<Circle>();

	SITE void draw(int depth) override
	{
		inner->draw(depth + 1);
		sink = sink + 1;
	}
};

struct Guard {
	SITE ~Guard()
	{
		nap_site();
		sink = sink + 1;
	}
};

SITE void thrower(unsigned value)
{
	Guard guard;

	if (value < 1000000)
		throw std::runtime_error("thrown");
	sink = sink + 1;
}

SITE void catcher()
{
	try {
		thrower(sink % 1000);
	} catch (const std::exception &error) {
		nap_site();
		sink = sink + (error.what()[0] == 't');
	}
}

SITE void caller(const std::function<void()> &function)
{
	function();
	sink = sink + 1;
}

static void say(const char *kind, const char *chain)
{
	truth_printf("{\"kind\":\"%s\",\"pid\":%d,\"tid\":%d,\"state\":\"S\",\"slept\":%d,\"chain\":[%s]}\n", kind,
		     static_cast<int>(getpid()), truth_gettid(), static_cast<int>(count), chain);
}

SITE void in_thread()
{
	for (std::uint64_t i = 0; i < count; i++)
		nap_site();
	say("thread", "\"shapes::in_thread\",\"shapes::nap_site\"");
}

SITE void run()
{
	std::unique_ptr<Shape> group = std::make_unique<Group>();

	for (std::uint64_t i = 0; i < count; i++) {
		group->draw(0);
		catcher();
		caller([] { nap_site(); sink = sink + 1; });
	}
	say("virtual", "\"main\",\"shapes::Group::draw\",\"shapes::Circle::draw\",\"shapes::nap_site\"");
	say("destructor", "\"main\",\"shapes::catcher\",\"shapes::thrower\",\"shapes::Guard::~Guard\",\"shapes::nap_site\"");
	say("handler", "\"main\",\"shapes::catcher\",\"shapes::nap_site\"");
}

} // namespace shapes

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	truth_open(argv[1]);
	shapes::count = std::strtoull(argv[2], nullptr, 10);
	shapes::nap_ns = std::strtol(argv[3], nullptr, 10) * 1000;
	truth_ready(nullptr, 0);
	shapes::run();
	std::thread(shapes::in_thread).join();
	truth_done();
	return 0;
}
