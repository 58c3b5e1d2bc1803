package browser_test

import (
	"context"
	"errors"
	"math/big"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskbulk"
	"taskkit.dev/taskkit/taskkind"
)

// enrolSpec is the spec of a bulk action over students.
type enrolSpec struct {
	Students []uuid.UUID `json:"students"`
	Program  string      `json:"program"`
	Number   uint64      `json:"number,omitzero"`
	Tags     []string    `json:"tags"`
}

type enrolState struct {
	Done int `json:"done"`
}

const enrolSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","x-taskkit-targets":"students","type":"object","properties":{
"students":{"description":"Students are enrolled.","type":["array","null"],"items":{"type":"string","anyOf":[{"format":"uuid","pattern":"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"},{"pattern":"^[0-9a-fA-F]{32}$"}]},"maxItems":100000,"uniqueItems":true},
"program":{"description":"Program is where they are enrolled.","type":"string","minLength":1,"maxLength":200},
"number":{"type":"integer","minimum":0,"maximum":18446744073709551615},
"tags":{"type":["array","null"],"items":{"type":"string"}}
},"required":["program"],"additionalProperties":false}`

var enrolKind = taskkit.NewKind(taskkind.Definition[enrolSpec, enrolState, struct{}]{
	Name: "enrol", BatchSize: 10, MaxBatchSize: 10, Preview: true, SpecSchema: []byte(enrolSchema), Doc: "Enrol enrols students in a program.",
	Targets: taskkind.TargetsIn("students", func(s *enrolSpec) *[]uuid.UUID { return &s.Students }),
})

var errNoPlace = errors.New("the program has no place left")

// enroller is the executor of enrolKind. A student whose id ends in ff fails unless it is repaired.
type enroller struct {
	holdAt   int  // of the students, one that does not come to an end; 0: none
	repaired bool // the cause of the failures is gone
}

// Execute implements [taskkit.Executor].
func (x enroller) Execute(ctx context.Context, b *taskkit.Batch[enrolSpec, enrolState]) (taskkit.Next, error) {
	if b.Spec.Program == "broken" {
		return taskkit.More, taskkit.Permanent("no_program", errors.New("the program <b>broken</b> does not exist"))
	}
	students, next := taskkit.Take(b, b.Spec.Students)
	for _, s := range students {
		b.State.Done++
		switch {
		case x.holdAt > 0 && b.State.Done >= x.holdAt && !b.Preview:
			<-ctx.Done()
			return taskkit.More, ctx.Err()
		case strings.HasSuffix(s.String(), "ff") && !x.repaired:
			b.Fail(s, taskkit.Permanent("no_place", errNoPlace))
		case strings.HasSuffix(s.String(), "ee"):
			b.Skip(s, "enrolled_before")
		case b.Preview:
			b.Note(s, "is enrolled")
		}
	}
	return next, nil
}

var halvesKind = taskkit.NewKind(taskkind.Definition[struct{}, enrolState, struct{}]{Name: "halves", Segments: true})

// halves is the executor of halvesKind.
type halves struct{}

// Segments implements [taskkit.Segmenter].
func (halves) Segments(context.Context, *taskkit.Batch[struct{}, enrolState]) (*segment.Plan, error) {
	return segment.Numeric{To: big.NewInt(4), Count: 2}.Plan()
}

// Execute implements [taskkit.Executor].
func (halves) Execute(_ context.Context, b *taskkit.Batch[struct{}, enrolState]) (taskkit.Next, error) {
	b.Total(2)
	b.Advance(2)
	return taskkit.Done, nil
}

// Merge implements [taskkit.Segmenter].
func (halves) Merge(total *enrolState, part enrolState) error {
	total.Done += part.Done
	return nil
}

// parcelSpec is the spec of a bulk action over things that have names.
type parcelSpec struct {
	Parcels []string `json:"parcels"`
}

var parcelKind = taskkit.NewKind(taskkind.Definition[parcelSpec, struct{}, struct{}]{
	Name: "parcel", BatchSize: 10, MaxBatchSize: 10,
	Targets: taskkind.TargetsIn("parcels", func(s *parcelSpec) *[]string { return &s.Parcels }),
})

// parcel is the executor of parcelKind. A parcel whose name begins with bad fails.
type parcel struct{}

// Execute implements [taskkit.Executor].
func (parcel) Execute(_ context.Context, b *taskkit.Batch[parcelSpec, struct{}]) (taskkit.Next, error) {
	parcels, next := taskkit.Take(b, b.Spec.Parcels)
	for _, p := range parcels {
		if strings.HasPrefix(p, "bad") {
			b.Fail(p, taskkit.Permanent("lost", errNoPlace))
		}
	}
	return next, nil
}

// register registers the kinds of the tests.
func register(r *taskkit.Registry, x enroller) {
	taskkit.Register(r, enrolKind, x)
	taskkit.Register(r, halvesKind, halves{})
	taskkit.Register(r, parcelKind, parcel{})
	taskbulk.Register(r)
}

func kinds() *taskkit.Registry {
	r := new(taskkit.Registry)
	register(r, enroller{})
	return r
}

// students returns ids of students, the last of which end in the given ends.
func students(n int, ends ...string) []uuid.UUID {
	all := make([]uuid.UUID, n)
	for i := range all {
		all[i] = uuid.New()
		all[i][15] = byte(i % 100)
	}
	for i, end := range ends {
		id := all[n-len(ends)+i].String()
		all[n-len(ends)+i] = uuid.MustParse(id[:36-len(end)] + end)
	}
	return all
}

// workerConfig is the configuration of a worker of the tests.
func workerConfig(schema string) taskkit.Config {
	return taskkit.Config{
		Schema: schema, Slots: 4, Heartbeat: 300 * time.Millisecond, DeadAfter: 8 * time.Second, BatchTimeout: 5 * time.Second, MaxAttempts: 1000,
		Poll: 50 * time.Millisecond, PollListening: 200 * time.Millisecond, Drain: 100 * time.Millisecond,
	}
}
