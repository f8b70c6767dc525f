package state

import (
	"slices"
	"time"
)

// The kinds of the events about services.
const (
	KindServiceStarted Kind = "service.started"
	KindServiceReady   Kind = "service.ready"
	KindServiceEnded   Kind = "service.ended"
)

// ServiceStarted says that the process of a service was started.
type ServiceStarted struct {
	Service string `json:"service"`
	Attempt int    `json:"attempt"` // the number of its log
	Port    int    `json:"port"`    // that was handed out for it
}

// ServiceReady says that workstreams can use a service.
type ServiceReady struct {
	Service string `json:"service"`
	Attempt int    `json:"attempt"`
	TookMS  int64  `json:"took_ms"` // from its start
}

// ServiceEnded says that the process of a service has ended.
type ServiceEnded struct {
	Service string   `json:"service"`
	Attempt int      `json:"attempt"`
	Error   *Failure `json:"error,omitempty"` // nil: Runner stopped it
}

// Kind implements Event.
func (ServiceStarted) Kind() Kind { return KindServiceStarted }

// Kind implements Event.
func (ServiceReady) Kind() Kind { return KindServiceReady }

// Kind implements Event.
func (ServiceEnded) Kind() Kind { return KindServiceEnded }

// Service is a service that was started in the session.
type Service struct {
	Name      string    `json:"name"`
	Attempt   int       `json:"attempt"` // the number of its last log
	Port      int       `json:"port"`
	StartedAt time.Time `json:"started_at"`
	Running   bool      `json:"running"`
	Ready     bool      `json:"ready"`
}

// applyService folds the events of services. Copies of the state share the list, so it is made
// anew.
func (s *State) applyService(at time.Time, e Event) {
	s.Services = slices.Clone(s.Services)
	service := func(name string) *Service {
		i := slices.IndexFunc(s.Services, func(had Service) bool { return had.Name == name })
		if i < 0 {
			i, s.Services = len(s.Services), append(s.Services, Service{Name: name})
		}
		return &s.Services[i]
	}
	switch e := e.(type) {
	case ServiceStarted:
		*service(e.Service) = Service{Name: e.Service, Attempt: e.Attempt, Port: e.Port, StartedAt: at, Running: true}
	case ServiceReady:
		service(e.Service).Ready = true
	case ServiceEnded:
		ended := service(e.Service)
		ended.Running, ended.Ready = false, false
	}
}

// endServices records that no service runs: none outlives its run.
func (s *State) endServices() {
	s.Services = slices.Clone(s.Services)
	for i := range s.Services {
		s.Services[i].Running, s.Services[i].Ready = false, false
	}
}
