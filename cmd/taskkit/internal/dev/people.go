package dev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/demo/caseload/ent/enrolment"
)

// people are the targets of all actions.
type people struct {
	domain  *ent.Client
	all     []uuid.UUID
	program string // the program with the most people
}

// refused reports whether the mail server rejects mail to an address.
func refused(address string) bool { return strings.HasSuffix(address, "@"+caseload.RefusedDomain) }

// populate fills the tables with people.
func (r *run) populate(ctx context.Context) (*people, error) {
	began := time.Now()
	p := &people{}
	var from string
	if r.File != "" {
		f, err := os.Open(r.File)
		if err != nil {
			return nil, fmt.Errorf("read people: %w", err)
		}
		defer f.Close()
		if _, err := caseload.Import(ctx, r.workspace.db, f); err != nil {
			return nil, fmt.Errorf("read people from %s: %w", r.File, err)
		}
		from = "from " + r.File
	} else {
		made, err := caseload.Generate(ctx, r.workspace.db, r.People, r.Seed)
		if err != nil {
			return nil, err
		}
		from = fmt.Sprintf("generated from seed %d; %d without a mail address, %d with an address that is rejected", r.Seed, made.NoAddress, made.Refused)
	}
	var err error
	if p.domain, err = caseload.Open(ctx, r.workspace.db); err != nil {
		return nil, err
	}
	n, _, err := caseload.Count(ctx, p.domain, caseload.Query{})
	if err != nil {
		return nil, err
	}
	if p.all, err = caseload.People(ctx, p.domain, caseload.Query{}, uuid.Nil, uuid.Nil, n); err != nil {
		return nil, err
	}
	if p.program, err = largest(ctx, p.domain); err != nil {
		return nil, err
	}
	fmt.Fprintf(r.Out, "people     %d in %.1fs, %s\n", len(p.all), time.Since(began).Seconds(), from)
	return p, nil
}

// largest returns the program with the most people.
func largest(ctx context.Context, c *ent.Client) (string, error) {
	var programs []struct {
		ID    string `sql:"program_id"`
		Count int    `sql:"count"`
	}
	err := c.Enrolment.Query().GroupBy(enrolment.FieldProgramID).Aggregate(ent.Count()).Scan(ctx, &programs)
	if err != nil {
		return "", fmt.Errorf("find the largest program: %w", err)
	}
	best := -1
	for i, p := range programs {
		if best < 0 || p.Count > programs[best].Count {
			best = i
		}
	}
	if best < 0 {
		return "", errors.New("no person is in a program")
	}
	return programs[best].ID, nil
}

// addresses counts which of some people should receive mail, by address. The people in
// without are left out.
func (p *people) addresses(ctx context.Context, of []uuid.UUID, without map[uuid.UUID]bool) (map[string]int, error) {
	want := make(map[string]int, len(of))
	const page = 5000
	for from := 0; from < len(of); from += page {
		found, err := caseload.Find(ctx, p.domain, of[from:min(from+page, len(of))])
		if err != nil {
			return nil, err
		}
		for id, person := range found {
			if person.Email != nil && !without[id] {
				want[*person.Email]++
			}
		}
	}
	return want, nil
}
