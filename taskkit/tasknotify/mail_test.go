package tasknotify_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/tasknotify"
)

// post is a mailer that keeps what it was given.
type post struct {
	mu      sync.Mutex
	letters []tasknotify.Letter
	fails   int // so many mails
}

func (p *post) SendMail(_ context.Context, l *tasknotify.Letter) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.letters = append(p.letters, *l)
	if p.fails > 0 {
		p.fails--
		return errors.New("the mail server is busy")
	}
	return nil
}

func (p *post) all() []tasknotify.Letter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.letters)
}

func mailTo(p *post, address string) *tasknotify.Mail {
	return &tasknotify.Mail{
		Mailer: p, Domain: "tasks.example", Address: func(context.Context, notice.Notice) (string, error) { return address, nil },
		Unsubscribe: func(n notice.Notice) string { return "https://jobs.example/unsubscribe?target=" + n.Target },
	}
}

// The mails of a task are one thread, each has one id at all tries, and has counts and a link in both of its parts.
func TestMID59Mail(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		p := &post{fails: 1}
		kind := newKind("numbers", "")
		startedWith(t, db, tasknotify.Config{
			Targets: map[string]tasknotify.Target{"owner": mailTo(p, "ada@people.example")},
			Link:    func(n notice.Notice) string { return "https://jobs.example/" + n.Task.String() + "?a=1&b=<2>" },
		}, func(r *taskkit.Registry) { taskkit.Register(r, kind, &work{}) })
		id := submitted(t, db, kind, below(11), taskkit.WithNotifications("owner", notice.Started, notice.Ended))
		ended(t, db, id)
		all := deliveries(t, db, id)
		letters := p.all()
		if len(all) != 2 || len(letters) != 3 {
			t.Fatalf("%d notifications and %d mails, want 2 and 3", len(all), len(letters))
		}
		ids := make(map[string]int)
		for _, l := range letters {
			ids[l.MessageID]++
			if l.To != "ada@people.example" || l.Unsubscribe != "https://jobs.example/unsubscribe?target=owner" || !slices.Equal(l.References, []string{id.String() + ".owner@tasks.example"}) {
				t.Errorf("mail %+v", l)
			}
		}
		for _, d := range all {
			if ids["msg_"+d.ID.String()+"@tasks.example"] == 0 {
				t.Errorf("no mail has the id of %s: %v", d.ID, ids)
			}
		}
		i := slices.IndexFunc(letters, func(l tasknotify.Letter) bool { return strings.Contains(l.Subject, "complete") })
		if i < 0 || letters[i].Subject != "numbers is complete" {
			t.Fatalf("no mail says that the task is complete: %+v", letters)
		}
		for _, text := range []string{"task " + id.String(), "9 done, 2 failed, 0 skipped of 11"} {
			if !strings.Contains(letters[i].Text, text) || !strings.Contains(letters[i].HTML, text) {
				t.Errorf("%q is not in both parts of the mail:\n%s\n%s", text, letters[i].Text, letters[i].HTML)
			}
		}
		if !strings.Contains(letters[i].Text, "?a=1&b=<2>") || !strings.Contains(letters[i].HTML, "?a=1&amp;b=%3c2%3e") {
			t.Errorf("the link is not in the mail:\n%s\n%s", letters[i].Text, letters[i].HTML)
		}
	})
}

// After five mails to one person about one kind the others wait, and come as one mail; other kinds and people do not wait.
func TestMID59Digest(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		p := new(post)
		kind, other := newKind("numbers", "owner"), newKind("other", "owner")
		ada, emmy := uuid.New(), uuid.New()
		mail := mailTo(p, "")
		mail.Address = func(_ context.Context, n notice.Notice) (string, error) {
			return map[uuid.UUID]string{ada: "ada@people.example", emmy: "emmy@people.example"}[n.Owner], nil
		}
		started(t, db, map[string]tasknotify.Target{"owner": mail}, func(r *taskkit.Registry) {
			taskkit.Register(r, kind, &work{})
			taskkit.Register(r, other, &work{})
		})
		notify := func(k *taskkit.Kind[spec, state, struct{}], person uuid.UUID) taskkit.ID {
			t.Helper()
			id := submitted(t, db, k, below(3), taskkit.OwnedBy(person))
			ended(t, db, id)
			return id
		}
		for range 5 { // one after another: tasks that end together may each take the last place
			deliveries(t, db, notify(kind, ada))
		}
		waiting := func() (list []*taskkit.Task) {
			page, _, err := clientOf(db).Tasks(t.Context(), taskkit.Filter{Kinds: []string{notice.Kind}, Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range page {
				if d.Status == taskkit.StatusQueued && d.Checkpoints > 0 {
					list = append(list, d)
				}
			}
			return list
		}
		for range 3 {
			notify(kind, ada)
		}
		until(t, "three notifications wait", func() bool { return len(waiting()) == 3 })
		deliveries(t, db, notify(other, ada))
		deliveries(t, db, notify(kind, emmy))
		count := make(map[string]int)
		for _, l := range p.all() {
			count[l.To+" "+l.Subject]++
		}
		if fmt.Sprint(count) != "map[ada@people.example numbers is complete:5 ada@people.example other is complete:1 emmy@people.example numbers is complete:1]" {
			t.Errorf("before the digest there were %v", count)
		}
		// Ten minutes later.
		query := "UPDATE taskkit_queued_task SET not_before = created_date WHERE workflow_status = 'QUEUED'"
		var digests []tasknotify.Letter
		until(t, "the digest was sent, and nothing waits", func() bool {
			if _, err := db.ExecContext(t.Context(), query); err != nil {
				t.Fatal(err)
			}
			digests = slices.DeleteFunc(p.all(), func(l tasknotify.Letter) bool { return !strings.Contains(l.Subject, "notifications") })
			return len(digests) > 0 && len(waiting()) == 0
		})
		if len(digests) != 1 || digests[0].Subject != "3 notifications about numbers" || strings.Count(digests[0].Text, "numbers is complete") != 3 || digests[0].To != "ada@people.example" {
			t.Errorf("the digest is %+v", digests)
		}
	})
}

// An address with a line feed, or with more than an address, is refused by name; nothing is sent.
func TestMID59MailAddresses(t *testing.T) {
	t.Parallel()
	for address, problem := range map[string]string{
		"ada@people.example\nBcc: all@people.example": "line feed", "ada@people.example\r\n": "line feed", "ada\x00@people.example": "control character",
		"Ada <ada@people.example>": "more than the address", "ada": "cannot be read", "ada@people.example, emmy@people.example": "cannot be read",
	} {
		p := new(post)
		err := mailTo(p, address).Deliver(t.Context(), &tasknotify.Message{Notice: notice.Notice{Event: notice.Completed}})
		var refused *tasknotify.MailAddressError
		if !errors.As(err, &refused) || !strings.Contains(refused.Problem, problem) || !taskkit.IsPermanent(t.Context(), err) || len(p.all()) != 0 {
			t.Errorf("%q: %v, and %d mails, want a permanent *MailAddressError that says %q", address, err, len(p.all()), problem)
		}
		if strings.Contains(fmt.Sprint(err), "ada") {
			t.Errorf("%q is in its error: %v", address, err)
		}
	}
}

// A person who has unsubscribed, or has no address, gets no mail, and the notification is no failure.
func TestMID59MailUnsubscribed(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		p := new(post)
		kind := newKind("numbers", "owner,team")
		started(t, db, map[string]tasknotify.Target{"owner": mailTo(p, "ada@people.example"), "team": mailTo(p, "")}, func(r *taskkit.Registry) { taskkit.Register(r, kind, &work{}) })
		for range 2 {
			if err := tasknotify.Unsubscribe(t.Context(), db.DB, schemaOf(db), "owner", "ada@people.example"); err != nil {
				t.Fatal(err)
			}
		}
		id := submitted(t, db, kind, below(3))
		ended(t, db, id)
		for _, d := range deliveries(t, db, id) {
			if d.Status != taskkit.StatusCompleted || d.Progress.Skipped != 1 {
				t.Errorf("ended as %s with %+v", d.Status, d.Progress)
			}
		}
		if n := len(p.all()); n != 0 {
			t.Errorf("%d mails were sent", n)
		}
	})
}
