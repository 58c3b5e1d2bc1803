package caseload

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Programs returns the programs that [Generate] fills: code and name. Everybody
// is in the first, and some are in one more.
func Programs() [][2]string {
	return [][2]string{
		{Success, "Student success"},
		{"honors", "Honors college"},
		{"athletics", "Athletics"},
		{"veterans", "Veterans and families"},
	}
}

// Success is the code of the program that everybody is in.
const Success = "success"

// RefusedDomain is the part after the @ of addresses that a demonstration's mail
// server refuses permanently. It is reserved (RFC 2606), like all domains that Generate
// uses.
const RefusedDomain = "gone.example.org"

// perCoach is how many people one coach has in care.
const perCoach = 300

// epoch is the time of the first person. Ids contain the time, so that the same seed
// makes the same ids.
var epoch = time.Date(2024, 8, 26, 8, 0, 0, 0, time.UTC)

// Generated describes the people of [Generate].
type Generated struct {
	People    int
	Coaches   int
	NoAddress int // without a valid mail address
	Refused   int // with an address at [RefusedDomain]
}

// Generate fills empty tables with people, the same for the same number and seed on both
// databases. Of a thousand people five have no mail address, one has an invalid one, and
// one has an address that is refused. It is one transaction.
func Generate(ctx context.Context, db *sql.DB, people int, seed uint64) (Generated, error) {
	if people < 1 {
		return Generated{}, fmt.Errorf("caseload: generate %d people: ask for one at least", people)
	}
	made := Generated{People: people, Coaches: (people + perCoach - 1) / perCoach}
	g := &generator{rand: rand.New(rand.NewPCG(seed, 0))}
	for range made.Coaches {
		g.coaches = append(g.coaches, strings.ToLower(g.oneOf(firstNames)[:1]+"."+g.oneOf(lastNames))+fmt.Sprint(len(g.coaches)+1))
	}
	err := load(ctx, db, Programs(), func(yield func(Person) bool) {
		for i := range people {
			p := g.person(i)
			switch {
			case p.Email == "" || !strings.Contains(p.Email, "@"):
				made.NoAddress++
			case strings.HasSuffix(p.Email, "@"+RefusedDomain):
				made.Refused++
			}
			if !yield(p) {
				return
			}
		}
	})
	return made, wrap("generate people", err)
}

// generator makes up people.
type generator struct {
	rand    *rand.Rand
	coaches []string
}

// The names of the people.
var (
	firstNames = strings.Fields(`Aaliyah Adam Aisha Alice Amara Andre Anna Ben Camila Carlos Chloe Daniel David Diego Elena Elif Emma Ethan
		Fatima Felix Grace Hana Hugo Ines Isaac Ivan Jada Jamal Jana Jorge Kai Karim Laura Leila Liam Lucia Malik Maria Mateo Mei Mila
		Nadia Naomi Noah Nora Olga Omar Oscar Paula Pedro Priya Rosa Samir Sara Sofia Theo Tomas Vera Wei Yara Yusuf Zoe`)
	lastNames = strings.Fields(`Adams Ahmed Alvarez Baker Bauer Begum Brown Campbell Carter Chen Cohen Costa Davis Diaz Dubois Evans Fischer
		Flores Garcia Green Gupta Hall Hassan Hughes Ivanova Jackson Johansson Jones Kaya Khan Kim Kowalski Lee Lopez Martin Mendoza
		Meyer Miller Moreau Murphy Nguyen Novak Okafor Oliveira Park Patel Perez Reed Rivera Rossi Sato Schmidt Silva Singh Smith
		Tanaka Taylor Torres Turner Walker Weber Williams Wilson Wood Yang Young`)
)

// oneOf returns one of some names.
func (g *generator) oneOf(names []string) string { return names[g.rand.IntN(len(names))] }

// person makes up the person with a number from 0.
func (g *generator) person(i int) Person {
	created := epoch.Add(time.Duration(i) * time.Second)
	p := Person{
		ID: g.id(created), SchoolID: fmt.Sprintf("S%07d", i+1),
		FirstName: g.oneOf(firstNames), LastName: g.oneOf(lastNames),
		Coach: g.coaches[g.rand.IntN(len(g.coaches))], Created: created,
		Enrolled: map[string]string{Success: g.status()},
	}
	mailbox := strings.ToLower(p.FirstName+"."+p.LastName) + fmt.Sprint(i+1)
	switch chance := g.rand.IntN(1000); {
	case chance < 5: // unknown
	case chance == 5:
		p.Email = mailbox + " at students.example.edu"
	case chance == 6:
		p.Email = mailbox + "@" + RefusedDomain
	default:
		p.Email = mailbox + "@students.example.edu"
	}
	if more := g.rand.IntN(10); more > 0 && more < len(Programs()) {
		p.Enrolled[Programs()[more][0]] = g.status()
	}
	return p
}

// status makes up a status: most are active.
func (g *generator) status() string {
	switch n := g.rand.IntN(10); {
	case n < 8:
		return Active
	case n < 9:
		return Paused
	default:
		return Exited
	}
}

// id returns a UUIDv7 of a time, with bits from the seed.
func (g *generator) id(at time.Time) uuid.UUID {
	var id uuid.UUID
	ms := at.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	for i := range 10 {
		id[6+i] = byte(g.rand.Uint32())
	}
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}
