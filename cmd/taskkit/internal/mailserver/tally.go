package mailserver

import "slices"

// Tally counts what a server accepted, of one task or of all.
type Tally struct {
	Accepted  int // mails taken in, repeats too
	Different int // mails without their repeats
	Repeats   int // mails that came again with their key: a receiver drops them
	NoKey     int // mails without a key, and mails that came again with another key or to another address
}

// Tally counts the mails of a task, or ("") all.
func (s *Server) Tally(task string) Tally {
	var t Tally
	type seen struct{ key, to string }
	byID := map[string]seen{}
	for _, m := range s.Mails() {
		if task != "" && m.Task != task {
			continue
		}
		t.Accepted++
		first, again := byID[m.MessageID]
		switch {
		case m.Key == "" || again && first != (seen{m.Key, m.To}):
			t.NoKey++
		case again:
			t.Repeats++
		default:
			byID[m.MessageID] = seen{m.Key, m.To}
			t.Different++
		}
	}
	return t
}

// Recipients counts, for each address, the different mails of a task, or ("")
// of all: one for each key, and one for each mail that has no key. Two mails of
// one task to one address mean that somebody got it twice, unless people share
// the address; [Server.Keys] does not mind that.
func (s *Server) Recipients(task string) map[string]int {
	counts := map[string]int{}
	type delivery struct{ key, to string }
	had := map[delivery]bool{}
	for _, m := range s.Mails() {
		d := delivery{m.Key, m.To}
		if task != "" && m.Task != task || m.Key != "" && had[d] {
			continue
		}
		had[d] = true
		counts[m.To]++
	}
	return counts
}

// Keys counts, for each key, the different mails of a task, or ("") of all, that
// came with it. More than one means that a key was used for two mails.
func (s *Server) Keys(task string) map[string]int {
	counts := map[string]int{}
	had := map[Mail]bool{}
	for _, m := range s.Mails() {
		if task != "" && m.Task != task {
			continue
		}
		if one := (Mail{MessageID: m.MessageID, Key: m.Key, To: m.To}); !had[one] {
			had[one] = true
			counts[m.Key]++
		}
	}
	return counts
}

// Mails returns all mails that were accepted, oldest first.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails)
}

// Refused returns how many recipients were refused for ever.
func (s *Server) Refused() int { return int(s.refused.Load()) }

// Throttled returns how many recipients were refused temporarily.
func (s *Server) Throttled() int { return int(s.throttled.Load()) }

// MostPerConnection returns the greatest number of mails that one connection
// brought.
func (s *Server) MostPerConnection() int { return int(s.most.Load()) }
