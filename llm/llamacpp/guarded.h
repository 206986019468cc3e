// How C++ is kept from throwing into Go.
#ifndef PERCACHED_GUARDED_H
#define PERCACHED_GUARDED_H

#include <exception>

// Keeps an error message for pc_take_errors.
void pc_keep_error(const char *text);

// Runs f; an exception is kept as an error message and turned into failure.
template <typename T, typename F> T guarded(T failure, F f) {
	try {
		return f();
	} catch (const std::exception &e) {
		pc_keep_error(e.what());
	} catch (...) {
		pc_keep_error("unknown exception");
	}
	return failure;
}

#endif // PERCACHED_GUARDED_H
