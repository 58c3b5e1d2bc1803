package taskhttp

import (
	"context"
	"errors"
	"net/http"
)

// OperatorAuthorizer decides whether a caller may operate the service. An error means no, and is
// answered with 403; its text is logged and not sent. It must be safe for concurrent use.
//
// Operators see and change what belongs to everybody: ids, kinds and owners of others' dead
// letters and jobs, but not their specs, states, results and texts of errors; these texts are for who may do OpExplainJobs. Who may do
// OpChangeSchedules can let a task of any kind run with any spec as any person.
type OperatorAuthorizer func(ctx context.Context, c Caller, op Operation) error

// The operations of operators, about which an [OperatorAuthorizer] decides, and never an [Authorizer].
const (
	OpReadSchedules   Operation = "read-schedules"
	OpChangeSchedules Operation = "change-schedules" // set, pause, resume, trigger and delete them
	OpReadQueues      Operation = "read-queues"
	OpChangeQueues    Operation = "change-queues" // pause and resume them
	OpReadDead        Operation = "read-dead"
	OpRetryDead       Operation = "retry-dead"
	OpDropDead        Operation = "drop-dead" // delete dead letters irrevocably
	OpBulk            Operation = "bulk"      // retry, stop, pause, resume or delete all jobs that match
	OpReadLimits      Operation = "read-limits"
	OpChangeLimits    Operation = "change-limits" // set limits by key, and take back what was set
	OpReadJobs        Operation = "read-jobs"     // of everybody
	OpExplainJobs     Operation = "explain-jobs"  // with the texts of errors and reasons
	OpReadWorkers     Operation = "read-workers"
	OpReadChanges     Operation = "read-changes" // of queues, limits and schedules, with reasons
	OpReadDoctor      Operation = "read-doctor"  // what is wrong, with texts of errors and of other sessions' queries
)

// operatorPath is the path of the calls of operators below the prefix.
const operatorPath = "/operator"

// operatorRoutes adds the calls of operators.
func (s *Server) operatorRoutes() {
	p := s.config.Prefix + operatorPath
	schedule := p + "/schedules/{name}"
	s.operator("GET "+p+"/schedules", OpReadSchedules, s.listSchedules)
	s.operator("GET "+schedule, OpReadSchedules, s.readSchedule)
	s.operator("PUT "+schedule, OpChangeSchedules, s.setSchedule)
	s.operator("DELETE "+schedule, OpChangeSchedules, s.deleteSchedule)
	for _, c := range scheduleChanges {
		s.operator("POST "+schedule+"/"+c.name, OpChangeSchedules, s.changeSchedule(c))
	}
	s.operator("GET "+p+"/queues", OpReadQueues, s.listQueues)
	for _, c := range queueChanges {
		s.operator("POST "+p+"/queues/{name}/"+c.name, OpChangeQueues, s.changeQueue(c))
	}
	s.operator("GET "+p+"/jobs", OpReadJobs, s.listAllJobs)
	s.operator("GET "+p+"/jobs/{id}", OpExplainJobs, s.explainJob)
	s.operator("GET "+p+"/workers", OpReadWorkers, s.listWorkers)
	s.operator("GET "+p+"/dead", OpReadDead, s.listDead)
	s.operator("GET "+p+"/dead/jobs", OpReadDead, s.listDeadJobs)
	for _, c := range deadChanges {
		s.operator("POST "+p+"/dead/"+c.name, c.op, s.changeDead(c))
	}
	s.operator("GET "+p+"/bulk", OpReadJobs, s.countBulk)
	s.operator("POST "+p+"/bulk", OpBulk, s.startBulk)
	s.operator("GET "+p+"/limits", OpReadLimits, s.listLimits)
	s.operator("PUT "+p+"/limits", OpChangeLimits, s.setLimit)
	s.operator("DELETE "+p+"/limits", OpChangeLimits, s.removeLimit)
	s.operator("GET "+p+"/changes", OpReadChanges, s.listChanges)
	s.operator("GET "+p+"/doctor", OpReadDoctor, s.readDoctor)
}

// operator adds a call of operators. Each change is logged, since what is deleted can keep no record, and so is one that
// has failed for another reason than what was asked for: a part of it may be done.
func (s *Server) operator(pattern string, op Operation, h handler) {
	s.handle(pattern, func(w http.ResponseWriter, r *http.Request, who Caller) error {
		if err := s.config.Operator(r.Context(), who, op); err != nil {
			s.config.Logger.DebugContext(r.Context(), "not authorized", "operation", op, "owner", who.Owner, "error", err)
			return ErrForbidden
		}
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			return h(w, r, who)
		}
		if op != OpChangeSchedules {
			if err := unconditional(r); err != nil {
				return err
			}
		}
		err := h(w, r, who)
		log := s.config.Logger.With("operation", op, "actor", who.Owner, "method", r.Method, "path", r.URL.Path, "query", r.URL.RawQuery)
		if _, refused := errors.AsType[*Error](err); err == nil {
			log.InfoContext(r.Context(), "an operator made a change")
		} else if !refused {
			log.WarnContext(r.Context(), "a change of an operator failed, and a part of it may be done", "error", err)
		}
		return err
	})
}
