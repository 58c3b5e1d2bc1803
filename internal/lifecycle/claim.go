package lifecycle

import "time"

// Rank is the first criterion of the order in which tasks are claimed: stalled
// tasks before others, then by priority. Among tasks of one rank the one that
// has been due for longest comes first, then the smallest id.
type Rank struct {
	Number   int // from 1, the first
	Stalled  bool
	Priority int
}

// Ranks returns all ranks in the order in which their tasks are claimed.
func Ranks() []Rank {
	var ranks []Rank
	for _, stalled := range []bool{true, false} {
		for p := HighestPriority; p <= LowestPriority; p++ {
			ranks = append(ranks, Rank{len(ranks) + 1, stalled, p})
		}
	}
	return ranks
}

// Rank returns the number of the task's rank.
func (r Row) Rank() int {
	if r.Stalled {
		return r.Priority
	}
	return LowestPriority + r.Priority
}

// RankPriority returns the priority of the tasks that have the rank of this number.
func RankPriority(number int) int {
	if number <= LowestPriority {
		return number
	}
	return number - LowestPriority
}

// StalledRank reports whether stalled tasks have the rank of this number.
func StalledRank(number int) bool { return number <= LowestPriority }

// Claimable reports whether the task may be claimed once it is due.
func (r Row) Claimable() bool { return r.Status == Queued && r.Control != Pause }

// Claim returns the row after a claim by a process. The claim counts as an
// attempt before anything is executed, since a task may kill its worker. Stalled stays,
// for a release that undoes the claim.
func (r Row) Claim(process string, now time.Time) Row {
	r.Status, r.Process, r.Scheduled, r.Started, r.Desc = Scheduling, process, &now, nil, ""
	r.Fence, r.Attempts = r.Fence+1, r.Attempts+1
	return r
}
