package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"taskkit.dev/internal/errclass"
	"taskkit.dev/internal/store"
)

// Worker is one running process of the runtime.
type Worker struct {
	store  store.Store
	kinds  map[string]*Kind
	config Config
}

// New makes a worker. It starts nothing.
func New(s store.Store, kinds map[string]*Kind, c Config) *Worker {
	return &Worker{store: s, kinds: kinds, config: c}
}

// errDead ends an incarnation whose identity is spent.
var errDead = errors.New("this identity has been declared dead or could not be renewed")

// Run works until ctx ends. Then it claims nothing more, lets the batches in
// hand finish within the drain time, gives its tasks back with no attempt
// spent, and returns nil. It returns an error only when it could not begin.
func (w *Worker) Run(ctx context.Context) error {
	defer func() {
		// A session that was left behind may be writing still: then the end of its
		// batch is not waited for.
		cctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		w.store.Release(cctx)
	}()
	for first := true; ; first = false {
		err := w.incarnate(ctx, first)
		if ctx.Err() != nil || !errors.Is(err, errDead) {
			return err
		}
		w.config.Log.Error("worker lost its identity and begins anew", "reason", err)
	}
}

// incarnate enrols under a fresh identity and works until ctx ends (nil), or
// until the identity is spent (errDead).
func (w *Worker) incarnate(ctx context.Context, first bool) error {
	process := identity(w.config.System)
	kinds := make(map[string][]int, len(w.kinds))
	for name, k := range w.kinds {
		kinds[name] = k.Reads
	}
	p := store.Process{
		ID: process, Version: w.config.Version, Kinds: kinds,
		Queues: w.config.Queues, Slots: w.config.Slots, DeadAfter: w.config.DeadAfter,
	}
	sent := time.Now()
	for n := 1; ; n++ {
		cctx, cancel := context.WithTimeout(ctx, w.config.Call)
		err := w.store.Enrol(cctx, p)
		cancel()
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // asked to end before it had begun: that is no failure
		}
		if first {
			return fmt.Errorf("enrol worker %s: %w", process, err)
		}
		w.config.Log.Error("cannot enrol; trying again", "error", err)
		sleep(ctx, w.config.Backoff.Delay(n))
		sent = time.Now()
	}
	i := newIncarnation(w, process, kinds, sent)
	i.log.Info("worker started", "slots", w.config.Slots, "queues", w.config.Queues)
	err := i.run(ctx)
	i.log.Info("worker ended", "reason", err)
	return err
}

// identity returns <system>-<startup-timestamp>-<random> (SSP-24): a new one
// for every incarnation, never reused.
func identity(system string) string {
	if system == "" {
		system, _ = os.Hostname()
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, see its documentation
	return fmt.Sprintf("%s-%s-%s", errclass.Clean(system), time.Now().UTC().Format("20060102T150405.000Z"), hex.EncodeToString(b[:]))
}
