package tasksearch_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/tasksearch"
	"taskkit.dev/taskkit"
)

var (
	person = uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	task   = uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8058")
)

func resolve(string) (taskkit.ID, error) { return task, nil }

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		want  taskkit.Filter
		again string // the text of the search, if it is another
	}{
		{"", taskkit.Filter{}, ""},
		{"all", taskkit.Filter{}, ""},
		{"kind:send_email", taskkit.Filter{Kinds: []string{"send_email"}}, ""},
		{"  KIND:a,b\tkind:b,c ", taskkit.Filter{Kinds: []string{"a", "b", "c"}}, "kind:a,b kind:b,c"},
		{"status:failed", taskkit.Filter{Statuses: []taskkit.Status{taskkit.StatusError, taskkit.StatusFailure}}, ""},
		{"status:Queued,ERROR", taskkit.Filter{Statuses: []taskkit.Status{taskkit.StatusQueued, taskkit.StatusError}}, ""},
		{"owner:system", taskkit.Filter{Owner: taskkit.SystemOwner}, ""},
		{"owner:" + person.String(), taskkit.Filter{Owner: person}, ""},
		{`reference:"program 7: \"maths\""`, taskkit.Filter{Reference: `program 7: "maths"`}, ""},
		{`unique-key:a:b`, taskkit.Filter{UniqueKey: "a:b"}, ""},
		{`queue:mail code:smtp_refused`, taskkit.Filter{Queue: "mail", Code: "smtp_refused"}, ""},
		{`older-than:14d`, taskkit.Filter{EndedFor: 14 * 24 * time.Hour}, ""},
		{`older-than:90m`, taskkit.Filter{EndedFor: 90 * time.Minute}, ""},
		{`is:running is:preview is:child`, taskkit.Filter{Running: true, Previews: true, Children: true}, ""},
		{`is:paused`, taskkit.Filter{Paused: true}, ""},
		{`is:approval`, taskkit.Filter{Approval: true}, ""},
		{`parent:8058`, taskkit.Filter{Parent: task}, ""},
		{`follows:@last`, taskkit.Filter{Follows: task}, ""},
		{`8058 status:failed`, taskkit.Filter{IDs: []taskkit.ID{task}, Statuses: []taskkit.Status{taskkit.StatusError, taskkit.StatusFailure}}, ""},
	} {
		q, err := tasksearch.Parse(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		got, err := q.Filter(resolve)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %+v (%v), want %+v", c.text, got, err, c.want)
		}
		want := c.again
		if want == "" {
			want = c.text
		}
		if q.String() != want || q.All != (c.text == "all") || q.Empty() != (c.text == "") {
			t.Errorf("%q: text %q, all %t, empty %t", c.text, q, q.All, q.Empty())
		}
		again, err := tasksearch.Parse(q.String())
		if err != nil || !reflect.DeepEqual(again, q) {
			t.Errorf("%q: parsed again it is %+v (%v), want %+v", c.text, again, err, q)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"frob:x":                     "there is no filter frob: use kind, status, owner, queue, code, reference, unique-key, parent, follows, older-than or is",
		"worker:w1":                  "no index has worker",
		"spec:x":                     "no index has spec",
		"-status:failed":             "there is no filter -status",
		"failed":                     "it is neither the id of a task nor a filter",
		"status:busy":                "there is no status busy: use queued, scheduling, executing, completed, error, failure, failed or ended",
		"kind:":                      "the value is missing",
		`kind:""`:                    "the value is missing",
		"kind:a,":                    "a value of the list is empty",
		"owner:me":                   "an owner is a UUID, or system",
		"owner:" + uuid.Nil.String(): "an owner is a UUID, or system",
		"queue:a queue:b":            "queue is given twice",
		"older-than:0d":              "positive duration",
		"older-than:-1h":             "positive duration",
		"older-than:99999999999d":    "positive duration",
		"is:odd":                     "there is no property odd",
		"parent:x":                   "a task is its id",
		`reference:"a b`:             "a quote is not closed",
		":x":                         "there is no name before the colon",
		"all kind:a":                 "it selects every task",
	} {
		_, err := tasksearch.Parse(text)
		if wrong, ok := errors.AsType[*tasksearch.Error](err); !ok || !strings.Contains(wrong.Problem, want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// A word that names no task has the error of the one who looks it up.
func TestFilterResolves(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"8058", "parent:8058", "follows:@last"} {
		q, err := tasksearch.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.Filter(func(string) (taskkit.ID, error) { return taskkit.ID{}, taskkit.ErrNotFound }); !errors.Is(err, taskkit.ErrNotFound) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWith(t *testing.T) {
	t.Parallel()
	q, err := tasksearch.Parse("kind:a status:failed kind:b")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{"status", "queued", "kind:a kind:b status:queued"},
		{"kind", "", "status:failed"},
		{"reference", "x y", `kind:a status:failed kind:b reference:"x y"`},
	} {
		if got := q.With(c[0], c[1]); got != c[2] {
			t.Errorf("with %s %q: %s, want %s", c[0], c[1], got, c[2])
		}
	}
	if got := q.Values("kind"); !reflect.DeepEqual(got, []string{"a", "b"}) || q.Values("owner") != nil {
		t.Errorf("kinds %q, owners %q", got, q.Values("owner"))
	}
}
