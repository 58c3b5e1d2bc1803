// Package plan is the list of the long forms that `make prove` runs: what they
// are, in which order, and which share of the time each gets.
package plan

import "time"

// A Step is one run of go test in its long form.
type Step struct {
	Name    string // of the layer, for people
	Package string // from the root of the proof module
	Run     string // for -run
	// Share of the whole time, in percent. Those of all steps are 100.
	Share int
	// Least is how long it takes in any case: with a smaller budget it is left
	// out.
	Least time.Duration
	// Records are the names under which the tests record their counts.
	Records []string
	// Proves says what is checked.
	Proves string
}

// Steps returns the plan. A step that searches everything, as the model does,
// takes as long as it takes. None is run beside another: some measure times.
func Steps() []Step {
	return []Step{
		{
			Name: "model", Package: "model", Run: "^Test", Share: 7, Records: []string{"model", "model-variants", "model-parent", "model-parent-variants"},
			Proves: "every state of the protocol, and every broken variant refuted",
		},
		{
			Name: "simulation", Package: "simulation", Run: "^TestNative$", Share: 12, Records: []string{"simulation"},
			Proves: "the engine on a simulated machine, a seed each",
		},
		{
			Name: "kills", Package: "oracle", Run: "^TestKilledWorkers$", Share: 7, Records: []string{"kills-postgres", "kills-sqlite"},
			Proves: "worker processes killed and stopped at random",
		},
		{
			Name: "faults", Package: "faultinject", Run: "^TestLong$", Share: 10, Records: []string{
				"faults-singles-postgres", "faults-singles-sqlite", "faults-mixed-postgres", "faults-mixed-sqlite", "faults-family-postgres", "faults-family-sqlite", "faults-commits-postgres",
				"faults-commits-sqlite", "faults-pairs-postgres", "faults-pairs-sqlite",
			},
			Proves: "a fault at every message and every call, then pairs of faults",
		},
		{
			Name: "proptest", Package: "proptest", Run: "^TestAgainstModel$", Share: 4, Records: []string{"proptest-postgres", "proptest-sqlite"},
			Proves: "calls of the public API, drawn at random, against a small model of it",
		},
		{
			Name: "hostile", Package: "hostile", Run: "^TestHostileExecutors$", Share: 3, Records: []string{"hostile-postgres", "hostile-sqlite"},
			Proves: "misbehaving executors beside healthy ones",
		},
		{
			Name: "takeover", Package: "chaos", Run: "^(TestTakeover|TestRestart)$", Share: 6, Least: time.Minute, Records: []string{
				"takeover-postgres", "takeover-sqlite", "restart-postgres", "restart-sqlite",
			},
			Proves: "how long it takes until the task of a worker that was killed goes on, at default settings: on another worker, and on one that is started again",
		},
		{
			Name: "listenercuts", Package: "chaos", Run: "^TestListenerCut$", Share: 3, Least: time.Minute, Records: []string{"listener-cuts"},
			Proves: "no worker is declared dead that loses the connection of its presence lock and can connect again within a second",
		},
		{
			Name: "requests", Package: "chaos", Run: "^TestRequestsTakeEffect$", Share: 4, Least: 30 * time.Second, Records: []string{"requests-postgres", "requests-sqlite"},
			Proves: "how long a stop, a pause and a delete take, whatever has become of the worker",
		},
		{
			Name: "scenarios", Package: "chaos", Run: "^TestScenarios$", Share: 8, Least: time.Minute, Records: []string{"scenarios"},
			Proves: "whatever happens to workers, network, server, pooler and disk: work goes on, and nothing is lost or done twice",
		},
		{
			Name: "httploop", Package: "httploop", Run: "^TestLoopUnderKills$", Share: 4, Records: []string{"httploop-postgres", "httploop-sqlite"},
			Proves: "clients start, await, fetch and delete jobs over HTTP, while server, workers and connections are killed",
		},
		{
			Name: "messages", Package: "messages", Run: "^Test", Share: 4, Least: time.Minute, Records: []string{
				"messages-exit-rabbitmq-postgres", "messages-exit-rabbitmq-sqlite", "messages-exit-jetstream-postgres", "messages-exit-kafka-postgres",
				"messages-kills-rabbitmq-postgres", "messages-kills-rabbitmq-sqlite", "messages-kills-jetstream-postgres", "messages-kills-kafka-postgres",
				"messages-versions-rabbitmq-postgres", "messages-versions-rabbitmq-sqlite", "messages-versions-jetstream-postgres", "messages-versions-kafka-postgres",
			},
			Proves: "messages of RabbitMQ, NATS JetStream and Kafka become one task each, while consumers exit between commit and acknowledgement or are killed, and broker and database restart; of 400 references with 20 versions each the newest is the last that takes effect, while consumers and workers are killed",
		},
		{
			Name: "schedules", Package: "schedules", Run: "^Test(Year|Misfires)$", Share: 2, Least: time.Minute, Records: []string{
				"schedules-year-memory", "schedules-year-sqlite", "schedules-year-postgres",
				"schedules-misfires-memory", "schedules-misfires-sqlite", "schedules-misfires-postgres",
			},
			Proves: "a year of 1,000 schedules over five workers that are killed, in zones whose clocks change: each wall time has one task, and what was missed by its policy. In memory it is the whole year, on databases there are fewer schedules and as many days as the time is enough for",
		},
		{
			Name: "bucketkills", Package: "bucketkills", Run: "^TestBucketsUnderKills$", Share: 3, Records: []string{"bucketkills-postgres", "bucketkills-sqlite"},
			Proves: "16 buckets on four worker processes, two of them killed in the middle, a hundred times: each row once, each bucket once",
		},
		{
			Name: "limitkills", Package: "limitkills", Run: "^TestLimitsUnderKills$", Share: 3, Records: []string{"limitkills-postgres", "limitkills-sqlite"},
			Proves: "1,000 keys with a limit of two on 16 slots of four worker processes that are killed again and again: never three tasks of a key at once",
		},
		{
			Name: "notifykills", Package: "notifykills", Run: "^TestMID59Killed$", Share: 1, Records: []string{"notifykills-postgres", "notifykills-sqlite"},
			Proves: "tasks end, and their workers are killed before the notifications are delivered, up to 1,000 times: each is delivered, with the id of its first try",
		},
		{
			Name: "bulkkills", Package: "bulkkills", Run: "^TestKilledInTheMiddle$", Share: 1, Records: []string{"bulkkills-postgres", "bulkkills-sqlite"},
			Proves: "a bulk operation stops 100,000 tasks, and its workers are killed in the middle: the request is made of each task of the frozen set once, and of no other",
		},
		{
			Name: "fairness", Package: "fairness", Run: "^Test", Share: 2, Least: time.Minute, Records: []string{"turns-postgres", "turns-sqlite", "rate-postgres", "rate-sqlite"},
			Proves: "ten small tasks of an owner while the tasks of another with 1,000,000 items have all slots: at most three times as long as alone, and a batch more where there are several slots; a rate of 50 items a second on a running task is kept within 5 % over a minute, and not exceeded with two kills",
		},
		{
			Name: "items", Package: "manyitems", Run: "^Test", Share: 5, Records: []string{
				"items-postgres", "items-sqlite", "items-csv-postgres", "items-csv-sqlite",
			},
			Proves: "1,000,000 targets, ten kills, a stop, a continuation, retries and a corrected file: each item has one outcome, in constant memory",
		},
		{
			Name: "soak", Package: "chaos", Run: "^TestSoak$", Share: 2, Records: []string{"soak-postgres", "soak-sqlite"},
			Proves: "memory and connections under load",
		},
		{
			Name: "doctor", Package: "doctor", Run: "^TestHealthySystem$", Share: 1, Records: []string{"healthy-postgres", "healthy-sqlite"},
			Proves: "the doctor finds nothing while a worker of a healthy system drains a queue that is never empty",
		},
		{
			Name: "mutants", Package: "mutants", Run: "^TestMutantsAreKilled$", Share: 8, Records: []string{"mutants"},
			Proves: "guards removed by patches, and detected",
		},
	}
}

// Budget is a step's share of the whole time.
func (s Step) Budget(whole time.Duration) time.Duration {
	return (whole * time.Duration(s.Share) / 100).Round(time.Second)
}
