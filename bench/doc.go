// Command bench runs taskkit and its peers on the same database server in the
// same run and prints ratios: absolute figures are the machine's, ratios carry
// over.
//
//	make bench                                  # all scenarios, full size
//	make bench ARGS='-scenario drain,submit'    # some
//	make bench ARGS='-scale 0.02 -runs 3'       # a rough result in a few minutes
//
// It starts a PostgreSQL and, for asynq, a Redis of its own, and ends them.
// PostgreSQL is set as Debian ships it: fsync, synchronous_commit and
// full_page_writes on.
//
// Each scenario is a few contests. In a contest every side measures once a
// round, in an order that shifts by one from round to round, so that what
// disturbs the machine disturbs all. What is printed is the median of the
// rounds with the smallest and the largest, and for each peer how many times
// better taskkit is: above 1 taskkit wins, whether more or less is better.
//
// Taskkit runs on its default Config, always. River runs on its defaults and on
// the best that was found for it; asynq on Redis without persistence; plain is
// SQL written by hand with no framework about it, the physical limit.
//
// The scenario network measures bulk, drain and submit once more, for all sides by a
// proxy in a process of its own, which keeps what is sent for half a millisecond each
// way and does not limit the rate. What a round trip really took stands beside the
// figures. The scenario horizon drains beside a reader with an old snapshot, and
// processes by up to 8 worker processes:
//
//	make bench ARGS='-scenario network,horizon,processes -db postgres'
//
// The scenario codec compares JSON codecs and needs no server:
//
//	make bench ARGS='-scenario codec'
package main
