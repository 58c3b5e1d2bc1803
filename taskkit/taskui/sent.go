package taskui

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"time"
)

// newKey returns the key of the forms of a page.
func newKey() string { return rand.Text() }

// sentKey identifies the form of a request: by the person, the path, the key and all fields, since a browser may send a page again with other values.
func (r *request) sentKey() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{r.who.ID.String(), r.URL.Path, r.PostForm.Encode()}, "\n")))
	return hex.EncodeToString(sum[:])
}

// sentForms are the forms that were sent a short time ago, by [request.sentKey]. A form that is sent twice, by a double click or a reload, makes its
// change once, and the second answer is the first one's. They are kept in the memory of one process. When two processes get a form, the database refuses
// what was done already to a task, which keeps who retried or continued it; starts and bulk operations have an idempotency key. It does not refuse
// what is for operators: a schedule that both run now runs twice, and a queue is paused twice.
type sentForms struct {
	mu  sync.Mutex
	all map[string]*sentForm
}

type sentForm struct {
	at   time.Time
	done chan struct{} // closed when to and err are set
	to   string
	err  error
}

const (
	keepForms = 10 * time.Minute
	mostForms = 10_000
)

func newSentForms() *sentForms { return &sentForms{all: map[string]*sentForm{}} }

// once calls f for the first call with a key and returns what it returned. Calls while it runs wait for it. After an error the form can be sent again.
func (s *sentForms) once(ctx context.Context, key string, f func() (string, error)) (string, error) {
	s.mu.Lock()
	if form, ok := s.all[key]; ok {
		s.mu.Unlock()
		select {
		case <-form.done:
			return form.to, form.err
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	form := &sentForm{at: time.Now(), done: make(chan struct{}), err: errAborted}
	s.forget(form.at)
	s.all[key] = form
	s.mu.Unlock()

	defer func() { // also after a panic
		if form.err != nil {
			s.mu.Lock()
			delete(s.all, key)
			s.mu.Unlock()
		}
		close(form.done)
	}()
	form.to, form.err = f()
	return form.to, form.err
}

// forget removes what is too old or too much. The caller holds the mutex.
func (s *sentForms) forget(now time.Time) {
	if len(s.all) < mostForms/2 {
		return
	}
	for key, form := range s.all {
		if now.Sub(form.at) > keepForms || len(s.all) >= mostForms {
			delete(s.all, key)
		}
	}
}
