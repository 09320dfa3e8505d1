package catalog

import (
	"cmp"
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The bounds and the default of a queue's Timeout in seconds. Source: API reference, GameSessionQueue.TimeoutInSeconds;
// the default is the value of its examples.
const (
	minQueueTimeout     = 10
	maxQueueTimeout     = 600
	DefaultQueueTimeout = 600
)

// maxListed is the maximum number of destinations and latency policies of a queue, and of queues of a matchmaking
// configuration. The API reference states none.
const maxListed = 100

// A Queue is a game session queue.
type Queue struct {
	// a UUID, which distinguishes it from a later queue of that name
	ID                 string          `cbor:"1,keyasint,omitempty"`
	Name               string          `cbor:"2,keyasint,omitempty"`
	Timeout            int32           `cbor:"3,keyasint,omitempty"` // seconds
	Destinations       []string        `cbor:"4,keyasint,omitempty"` // ARNs of fleets and aliases, as given
	LatencyPolicies    []LatencyPolicy `cbor:"5,keyasint,omitempty"` // ascending by cap
	AllowedLocations   []string        `cbor:"6,keyasint,omitempty"` // nil: all
	PriorityOrder      []string        `cbor:"7,keyasint,omitempty"`
	LocationOrder      []string        `cbor:"8,keyasint,omitempty"`
	CustomEventData    string          `cbor:"9,keyasint,omitempty"`
	NotificationTarget string          `cbor:"10,keyasint,omitempty"`
	Created            event.Time      `cbor:"11,keyasint,omitempty"`
	Updated            event.Time      `cbor:"12,keyasint,omitempty"`
}

// A LatencyPolicy caps the latency of each player for a time.
type LatencyPolicy struct {
	Cap     int32 `cbor:"1,keyasint,omitempty"` // milliseconds
	Seconds int32 `cbor:"2,keyasint,omitempty"` // 0: to the end
}

// CreateQueue creates a game session queue. InvalidRequest if the name is used (the API models no Conflict here) or the
// queue is invalid; NotFound for a destination; LimitExceeded, TaggingFailed.
type CreateQueue struct {
	Queue           // Created and Updated are of the event
	Refers []string `cbor:"101,keyasint,omitzero"` // resource keys of the destinations in this Region, which must exist
	Tags   []Tag    `cbor:"102,keyasint,omitzero"`
}

// UpdateQueue changes the fields that are not nil; an empty list clears one. NotFound for the queue and for a
// destination, InvalidRequest for an invalid queue.
type UpdateQueue struct {
	Name               string          `cbor:"1,keyasint,omitzero"`
	Timeout            *int32          `cbor:"2,keyasint,omitzero"`
	Destinations       []string        `cbor:"3,keyasint,omitzero"`
	Refers             []string        `cbor:"4,keyasint,omitzero"` // as in CreateQueue
	LatencyPolicies    []LatencyPolicy `cbor:"5,keyasint,omitzero"`
	AllowedLocations   []string        `cbor:"6,keyasint,omitzero"`
	Priority           *Priority       `cbor:"7,keyasint,omitzero"` // replaced as a whole
	CustomEventData    *string         `cbor:"8,keyasint,omitzero"`
	NotificationTarget *string         `cbor:"9,keyasint,omitzero"`
}

// Priority is a queue's PriorityConfiguration.
type Priority struct {
	Order     []string `cbor:"1,keyasint,omitzero"` // of LATENCY, COST, DESTINATION, LOCATION
	Locations []string `cbor:"2,keyasint,omitzero"`
}

// DeleteQueue deletes a queue. Matchmaking configurations may still name it. NotFound.
type DeleteQueue struct {
	Name string `cbor:"1,keyasint,omitzero"`
}

// QueueCreated follows CreateQueue; its tags follow as ResourceTagged.
type QueueCreated struct{ Queue }

// QueueUpdated follows UpdateQueue; it holds the whole queue.
type QueueUpdated struct{ Queue }

// QueueDeleted follows DeleteQueue. It also deletes the queue's tags.
type QueueDeleted struct {
	Name string `cbor:"1,keyasint,omitempty"`
}

func (c CreateQueue) decide(s *State, now event.Time) ([]Event, error) {
	if _, ok := s.queues.Get(c.Name); ok {
		return nil, fault.New(fault.InvalidRequest, "Game session queue %s already exists", c.Name)
	}
	q := c.normal()
	q.Created, q.Updated = now, now
	if err := q.check(); err != nil {
		return nil, err
	}
	if err := s.mustExist(c.Refers); err != nil {
		return nil, err
	}
	if s.queues.Len() >= s.limits.Queues {
		return nil, fault.New(fault.LimitExceeded, "The limit of %d game session queues is reached", s.limits.Queues)
	}
	tagged, err := s.tagNew(queueKind+c.Name, c.Tags)
	if err != nil {
		return nil, err
	}
	return append([]Event{&QueueCreated{q}}, tagged...), nil
}

func (c UpdateQueue) decide(s *State, now event.Time) ([]Event, error) {
	old, ok := s.queues.Get(c.Name)
	if !ok {
		return nil, queueNotFound(c.Name)
	}
	q := c.over(*old).normal()
	q.Updated = now
	if err := q.check(); err != nil {
		return nil, err
	}
	if err := s.mustExist(c.Refers); err != nil {
		return nil, err
	}
	return []Event{&QueueUpdated{q}}, nil
}

// over returns q with the changes of c.
func (c UpdateQueue) over(q Queue) Queue {
	set(&q.Timeout, c.Timeout)
	setList(&q.Destinations, c.Destinations)
	setList(&q.LatencyPolicies, c.LatencyPolicies)
	setList(&q.AllowedLocations, c.AllowedLocations)
	if c.Priority != nil {
		q.PriorityOrder, q.LocationOrder = c.Priority.Order, c.Priority.Locations
	}
	set(&q.CustomEventData, c.CustomEventData)
	set(&q.NotificationTarget, c.NotificationTarget)
	return q
}

// setList assigns a list that is not nil, even if it is empty.
func setList[T any](field *[]T, given []T) {
	if given != nil {
		*field = given
	}
}

// normal returns a copy that shares no list with q. Latency policies are in the order in which they apply, which is
// also how the API shows them.
func (q Queue) normal() Queue {
	q.Destinations = listOf(q.Destinations)
	q.LatencyPolicies = listOf(q.LatencyPolicies)
	slices.SortStableFunc(q.LatencyPolicies, func(a, b LatencyPolicy) int { return cmp.Compare(a.Cap, b.Cap) })
	q.AllowedLocations = listOf(q.AllowedLocations)
	q.PriorityOrder = listOf(q.PriorityOrder)
	q.LocationOrder = listOf(q.LocationOrder)
	return q
}

// listOf copies a list; an empty one becomes nil, as after decoding.
func listOf[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return slices.Clone(list)
}

func (q Queue) check() error {
	if q.Timeout < minQueueTimeout || q.Timeout > maxQueueTimeout {
		return fault.New(fault.InvalidRequest, "TimeoutInSeconds must be from %d to %d", minQueueTimeout,
			maxQueueTimeout)
	}
	if err := checkListed("Destinations", len(q.Destinations)); err != nil {
		return err
	}
	if err := checkListed("PlayerLatencyPolicies", len(q.LatencyPolicies)); err != nil {
		return err
	}
	for _, list := range []struct {
		member string
		values []string
	}{
		{"Destinations", q.Destinations},
		{"PriorityConfiguration.PriorityOrder", q.PriorityOrder},
		{"PriorityConfiguration.LocationOrder", q.LocationOrder},
	} {
		if value, ok := repeated(list.values); ok {
			return fault.New(fault.InvalidRequest, "%s has %s twice. Name each one once.", list.member, value)
		}
	}
	return nil
}

func checkListed(member string, n int) error {
	if n > maxListed {
		return fault.New(fault.InvalidRequest, "%s has %d elements; the maximum is %d", member, n, maxListed)
	}
	return nil
}

// mustExist rejects keys of unknown resources.
func (s *State) mustExist(resources []string) error {
	for _, key := range resources {
		if !s.Taggable(key) {
			return resourceNotFound(key)
		}
	}
	return nil
}

func (c DeleteQueue) decide(s *State, _ event.Time) ([]Event, error) {
	if _, ok := s.queues.Get(c.Name); !ok {
		return nil, queueNotFound(c.Name)
	}
	return []Event{&QueueDeleted{Name: c.Name}}, nil
}

func (e *QueueCreated) apply(s *State) { s.queues.Set(e.Name, &e.Queue) }

func (e *QueueUpdated) apply(s *State) {
	if _, ok := s.queues.Get(e.Name); ok {
		s.queues.Set(e.Name, &e.Queue)
	}
}

func (e *QueueDeleted) apply(s *State) {
	s.queues.Delete(e.Name)
	s.tags.Delete(queueKind + e.Name)
}

func queueNotFound(name string) error {
	return fault.New(fault.NotFound, "Game session queue %s not found", name)
}

// Queue finds a queue.
func (s *State) Queue(name string) (*Queue, bool) { return s.queues.Get(name) }

// Queues returns the game session queues with names after the given one, in order. A limit below 1 is none; more
// reports that there are further ones.
func (s *State) Queues(after string, limit int) (queues []*Queue, more bool) {
	return page(&s.queues, "", after, limit, every)
}
