package main_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskkind"
)

// numbers is the spec of the tasks of these tests.
type numbers struct {
	Buckets int `json:"buckets"`
}

// none is a state of nothing.
type none struct{}

// numbersKind is a kind with buckets, and familyKind one with a stage of that and another.
var (
	numbersKind = taskkit.NewKind(taskkind.Definition[numbers, none, struct{}]{Name: "numbers", Segments: true})
	familyKind  = taskkit.NewKind(taskkind.Definition[numbers, none, struct{}]{Name: "family", Stages: true})
	oneKind     = taskkit.NewKind(taskkind.Definition[numbers, none, struct{}]{Name: "one"})
)

// numbersExecutor fails in the second bucket, if there are 3. Each bucket counts two items.
type numbersExecutor struct{}

func (numbersExecutor) Segments(_ context.Context, b *taskkit.Batch[numbers, none]) (*segment.Plan, error) {
	return segment.Numeric{To: big.NewInt(int64(10 * b.Spec.Buckets)), Count: b.Spec.Buckets}.Plan()
}

func (numbersExecutor) Execute(_ context.Context, b *taskkit.Batch[numbers, none]) (taskkit.Next, error) {
	if b.Spec.Buckets == 3 && strings.HasPrefix(b.Segment.String(), "from 10 ") {
		return taskkit.Done, taskkit.Permanent("planned", nil)
	}
	b.Total(2)
	b.Advance(2)
	return taskkit.Done, nil
}

// familyExecutor has two stages.
type familyExecutor struct{}

func (familyExecutor) Stages(_ context.Context, b *taskkit.Batch[numbers, none]) ([]taskkit.Stage, error) {
	return []taskkit.Stage{
		taskkit.NewStage("first", oneKind, b.Spec),
		taskkit.NewStage("second", numbersKind, b.Spec, taskkit.WithChildFailure(taskkit.ContinueParent)),
	}, nil
}

func (familyExecutor) Execute(context.Context, *taskkit.Batch[numbers, none]) (taskkit.Next, error) {
	return taskkit.Done, nil
}

type oneExecutor struct{}

func (oneExecutor) Execute(_ context.Context, b *taskkit.Batch[numbers, none]) (taskkit.Next, error) {
	b.Total(1)
	b.Fail("Ada", nil)
	return taskkit.Done, nil
}

// workFamilies runs a worker for the kinds of these tests.
func (s *site) workFamilies(t *testing.T) {
	t.Helper()
	var r taskkit.Registry
	taskkit.Register(&r, numbersKind, numbersExecutor{})
	taskkit.Register(&r, familyKind, familyExecutor{})
	taskkit.Register(&r, oneKind, oneExecutor{})
	w, err := taskkit.NewWorker(t.Context(), s.DB.DB, &r, taskkit.Config{
		Schema: s.schema, Poll: 20 * time.Millisecond, PollListening: 50 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("worker: %v", err)
		}
	})
}

// ids are what differs from run to run.
var ids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// childrenShown returns what show says of children, with ID for each id.
func (s *site) childrenShown(t *testing.T, id taskkit.ID) string {
	t.Helper()
	_, out, errs := ran(t, s.args("show", id.String())...)
	_, out, found := strings.Cut(out, "\nChildren: ")
	if !found {
		t.Fatalf("no children are shown: %s", errs)
	}
	out, _, _ = strings.Cut(out, "\nFailed attempts")
	return ids.ReplaceAllString(strings.TrimSpace(out), "ID")
}

// show prints the tree of a task's children, and its failed buckets.
func TestShowChildren(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		s.workFamilies(t)
		submit := func(k *taskkit.Kind[numbers, none, struct{}], buckets int, opts ...taskkit.SubmitOption) taskkit.ID {
			id, err := taskkit.Submit(t.Context(), db.DB, k, numbers{buckets}, append(opts, taskkit.System(), taskkit.WithSchema(s.schema))...)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.client.Wait(testdb.Within(t), id, nil); err != nil {
				t.Fatal(err)
			}
			return id
		}
		family := submit(familyKind, 3)
		const want = `0 open, 1 completed, 1 stopped, 0 failed
CHILD	KIND	STATUS	ITEMS	TASK
first	one	COMPLETED	1 of 1, 1 failed	ID
second	numbers	COMPLETED, stopped	4	ID
  bucket 1	numbers	COMPLETED	2 of 2	ID
  bucket 2	numbers	FAILURE	0	ID
  bucket 3	numbers	COMPLETED	2 of 2	ID

Failed items
ITEM	CODE	DETAIL
Ada	item_failed`
		if got := s.childrenShown(t, family); got != want {
			t.Errorf("the tree is\n%s\nwant\n%s", got, want)
		}
		children, err := s.client.Children(t.Context(), family, taskkit.ID{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		const buckets = `0 open, 2 completed, 0 stopped, 1 failed
CHILD	KIND	STATUS	ITEMS	TASK
bucket 1	numbers	COMPLETED	2 of 2	ID
bucket 2	numbers	FAILURE	0	ID
bucket 3	numbers	COMPLETED	2 of 2	ID

Open and failed buckets
BUCKET	STATUS	ITEMS	SEGMENT	DETAIL
2	FAILURE	0	from 10 to below 20	planned: planned`
		if got := s.childrenShown(t, children[1].ID); got != buckets {
			t.Errorf("of the stage with buckets\n%s\nwant\n%s", got, buckets)
		}
		many := submit(numbersKind, 27)
		if got := s.childrenShown(t, many); strings.Count(got, "bucket ") != 20 || !strings.Contains(got, "\nand 7 more") || !strings.Contains(got, "27 completed") {
			t.Errorf("of 27 buckets\n%s", got)
		}
		_, out, _ := ran(t, s.args("show", family.String(), "-o", "json")...)
		var shown struct {
			Children []struct {
				Stage    string
				Children []struct{ Bucket int }
			}
		}
		if err := json.Unmarshal([]byte(out), &shown); err != nil || len(shown.Children) != 2 || fmt.Sprint(shown.Children[1].Children) != "[{1} {2} {3}]" {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// ls and dead have the tasks that were submitted, and their children on request.
func TestListsHaveNoChildren(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		s.workFamilies(t)
		options := []taskkit.SubmitOption{taskkit.System(), taskkit.WithSchema(s.schema)}
		if _, err := taskkit.Submit(t.Context(), db.DB, oneKind, numbers{}, append(options, taskkit.WithQueue("unserved"), taskkit.WithUniqueKey("u"), taskkit.WithCoalescing("r"))...); err != nil {
			t.Fatal(err)
		}
		id, err := taskkit.Submit(t.Context(), db.DB, numbersKind, numbers{3}, options...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.client.Wait(testdb.Within(t), id, nil); err != nil {
			t.Fatal(err)
		}
		for args, want := range map[string]int{
			"ls": 2, "ls --children": 5, "ls --parent " + id.String(): 3, "ls --parent @last --status failure": 1, "ls --kind numbers": 1,
			"ls --reference r": 1, "ls --unique-key u": 1, "ls --reference other": 0, "ls --running": 0,
			"dead show": 1, "dead show --children": 2, "dead show --code planned": 0, "dead show --code planned --children": 1,
			"dead": 1, "dead --children": 2,
		} {
			_, out, errs := ran(t, s.args(strings.Fields(args)...)...)
			if got := strings.Count(out, "\n"); max(got-1, 0) != want {
				t.Errorf("taskkit %s has %d lines, want %d and a head:\n%s%s", args, got, want, out, errs)
			}
		}
		expect(t, 2, "is not a task", s.args("ls", "--parent", "x")...)
		expect(t, 2, "--reference is empty", s.args("ls", "--reference", "")...)
		expect(t, 2, "1 dead letter would be retried", s.args("dead", "retry", "--kind", "numbers")...)
		expect(t, 2, "2 dead letters would be retried", s.args("dead", "retry", "--kind", "numbers", "--children")...)
	})
}

// buckets reports the buckets of a task in three formats, and limit changes how many are open.
func TestBuckets(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		waiting, err := taskkit.Submit(t.Context(), db.DB, numbersKind, numbers{3}, taskkit.System(), taskkit.WithSchema(s.schema))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := taskkit.Submit(t.Context(), db.DB, oneKind, numbers{}, taskkit.System(), taskkit.WithSchema(s.schema))
		if err != nil {
			t.Fatal(err)
		}
		id := waiting.String()
		expect(t, 0, "has the new limit", s.args("set", id, "--max-parallel", "1")...)
		expect(t, 2, "at least 1 bucket", s.args("set", id, "--max-parallel", "0")...)
		expect(t, 2, "one of --stop-after, --max-parallel and --max-rate", s.args("set", id, "--max-parallel", "1", "--stop-after", "5")...)
		expect(t, 0, "has the new limit", s.args("set", id, "--stop-after", "5")...)
		expect(t, 2, "has no buckets", s.args("set", plain.String(), "--max-parallel", "2")...)
		expect(t, 2, "has no buckets", s.args("buckets", plain.String())...)
		expect(t, 0, "[]", s.args("buckets", id, "-o", "json")...)
		s.workFamilies(t)
		if _, err := s.client.Wait(testdb.Within(t), waiting, nil); err != nil {
			t.Fatal(err)
		}
		expect(t, 1, "only a task that has not ended can be changed\n", s.args("set", id, "--max-parallel", "2")...)
		expect(t, 0, plain.String(), s.args("show", "@last")...) // and not one of the buckets, which are newer
		_, out, errs := ran(t, s.args("buckets", id)...)
		if !strings.HasPrefix(out, "BUCKET\tSEGMENT") || !strings.Contains(out, "from 10 to below 20\tFAILURE") || strings.Count(out, "\n") != 3 {
			t.Errorf("the table is\n%s%s", out, errs)
		}
		_, out, errs = ran(t, s.args("buckets", id, "-o", "csv")...)
		lines, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil || len(lines) != 3 || lines[0][12] != "skew" || lines[2][3] != "FAILURE" {
			t.Errorf("the CSV is %q (%v)\n%s", lines, err, errs)
		}
		_, out, errs = ran(t, s.args("buckets", id, "-o", "json")...)
		var buckets []struct {
			taskkit.Child
			StatusDetail string `json:"status_detail"`
		}
		if err := json.Unmarshal([]byte(out), &buckets); err != nil || len(buckets) != 2 || buckets[1].Status != taskkit.StatusFailure || buckets[1].StatusDetail != "planned: planned" {
			t.Errorf("the JSON is %s (%v)\n%s", out, err, errs)
		}
	})
}
