// Command bench runs taskkit and its peers on the same database server in the
// same run and prints ratios, which carry over to other machines, unlike absolute figures.
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
// round, in an order that shifts by one from round to round, so that disturbances
// of the machine affect all sides. The output has the median of the rounds with the
// smallest and the largest figure, and for each peer how many times better taskkit
// is: above 1 taskkit wins, whether more or less is better.
//
// Taskkit always runs with its default Config. River runs with its defaults and with
// the best configuration that was found; asynq on Redis without persistence; plain is
// SQL written by hand without a framework, the physical limit.
//
// The scenario network measures bulk, drain and submit again, for all sides through a
// proxy in a process of its own, which delays data by half a millisecond in each
// direction and does not limit the rate. The figures include the measured round trip.
// The scenario horizon drains beside a reader with an old snapshot, and
// processes by up to 8 worker processes:
//
//	make bench ARGS='-scenario network,horizon,processes -db postgres'
//
// The scenario telemetry drains with metrics and traces and without, and so does River with
// otelriver:
//
//	make bench ARGS='-scenario telemetry -db postgres'
//
// The scenario codec compares JSON codecs and needs no server:
//
//	make bench ARGS='-scenario codec'
//
// The command size fills tables with five million ended tasks, half a million that wait, ten million events and five million
// items, and counts the buffers that each call reads which could read too many:
//
//	make bench ARGS='size -scale 1'
//	make bench ARGS='size -db sqlite'           # a tenth, and times in place of buffers
//
// The command pages fills a database with 10,000,000 tasks, and one with as many jobs of River, and requests each page of the
// dashboard and each answer of River UI:
//
//	make bench ARGS='pages'
//	make bench ARGS='pages -tasks 100000 -runs 50'
package main
