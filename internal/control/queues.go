package control

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// queuePage is the maximum number of queues on a page. Source: API reference, DescribeGameSessionQueues.
const queuePage = 50

// CreateGameSessionQueue creates a game session queue.
func (p *Plane) CreateGameSessionQueue(ctx context.Context,
	in *wire.CreateGameSessionQueueInput) (*wire.CreateGameSessionQueueOutput, error) {
	command := catalog.CreateQueue{
		Queue: catalog.Queue{
			ID: uuid.NewString(), Name: in.Name, Timeout: in.TimeoutInSeconds.Or(catalog.DefaultQueueTimeout),
			AllowedLocations: allowedFrom(in.FilterConfiguration),
			CustomEventData:  in.CustomEventData, NotificationTarget: in.NotificationTarget,
		},
		Tags: tagsFrom(in.Tags),
	}
	var err error
	if command.Destinations, command.Refers, err = p.destinationsFrom(in.Destinations); err != nil {
		return nil, err
	}
	if command.LatencyPolicies, err = policiesFrom(in.PlayerLatencyPolicies); err != nil {
		return nil, err
	}
	if priority := priorityFrom(in.PriorityConfiguration); priority != nil {
		command.PriorityOrder, command.LocationOrder = priority.Order, priority.Locations
	}
	if err := p.Change(ctx, command); err != nil {
		return nil, err
	}
	queue, err := p.describedQueue(in.Name)
	return &wire.CreateGameSessionQueueOutput{GameSessionQueue: queue}, err
}

// destinationsFrom parses destinations, and returns also the resources of this Region among them. A queue may lead to
// other Regions, where nothing is placed.
func (sh shapes) destinationsFrom(in []wire.GameSessionQueueDestination) (arns, refers []string, err error) {
	if in == nil {
		return nil, nil, nil
	}
	arns = []string{}
	for i, d := range in {
		a, ok := arn.Parse(d.DestinationArn)
		if !ok || !slices.Contains([]arn.Kind{arn.KindFleet, arn.KindContainerFleet, arn.KindAlias}, a.Kind) {
			return nil, nil, invalid("Destinations[%d] needs the ARN of a fleet or of an alias as its DestinationArn",
				i)
		}
		arns = append(arns, d.DestinationArn)
		if a.Region == sh.names.Region {
			refers = append(refers, string(a.Kind)+"/"+a.ID)
		}
	}
	return arns, refers, nil
}

func policiesFrom(in []wire.PlayerLatencyPolicy) ([]catalog.LatencyPolicy, error) {
	if in == nil {
		return nil, nil
	}
	policies := []catalog.LatencyPolicy{}
	for i, policy := range in {
		limit, ok := policy.MaximumIndividualPlayerLatencyMilliseconds.Get()
		if !ok {
			return nil, invalid("PlayerLatencyPolicies[%d] needs a MaximumIndividualPlayerLatencyMilliseconds", i)
		}
		policies = append(policies, catalog.LatencyPolicy{Cap: limit, Seconds: policy.PolicyDurationSeconds.Or(0)})
	}
	return policies, nil
}

// allowedFrom returns nil for a filter that is not given, and an empty list for one that allows every location.
func allowedFrom(filter *wire.FilterConfiguration) []string {
	if filter == nil {
		return nil
	}
	return append([]string{}, filter.AllowedLocations...)
}

func priorityFrom(in *wire.PriorityConfiguration) *catalog.Priority {
	if in == nil {
		return nil
	}
	return &catalog.Priority{Order: enumsText(in.PriorityOrder), Locations: in.LocationOrder}
}

// UpdateGameSessionQueue changes the members that are given. Lists and configurations are replaced as a whole; an empty
// one removes the old one.
func (p *Plane) UpdateGameSessionQueue(ctx context.Context,
	in *wire.UpdateGameSessionQueueInput) (*wire.UpdateGameSessionQueueOutput, error) {
	q, err := p.queue(in.Name)
	if err != nil {
		return nil, err
	}
	command := catalog.UpdateQueue{
		Name: q.Name, Timeout: given(in.TimeoutInSeconds),
		AllowedLocations: allowedFrom(in.FilterConfiguration), Priority: priorityFrom(in.PriorityConfiguration),
		CustomEventData: given(in.CustomEventData), NotificationTarget: given(in.NotificationTarget),
	}
	if command.Destinations, command.Refers, err = p.destinationsFrom(in.Destinations); err != nil {
		return nil, err
	}
	if command.LatencyPolicies, err = policiesFrom(in.PlayerLatencyPolicies); err != nil {
		return nil, err
	}
	if err := p.Change(ctx, command); err != nil {
		return nil, err
	}
	queue, err := p.describedQueue(q.Name)
	return &wire.UpdateGameSessionQueueOutput{GameSessionQueue: queue}, err
}

// DescribeGameSessionQueues describes the named queues that exist, or a page of all, by name.
func (cr *catalogReader) DescribeGameSessionQueues(_ context.Context,
	in *wire.DescribeGameSessionQueuesInput) (*wire.DescribeGameSessionQueuesOutput, error) {
	queues, next, err := cr.queuesPage(in)
	if err != nil {
		return nil, err
	}
	return &wire.DescribeGameSessionQueuesOutput{GameSessionQueues: shown(queues, cr.queueTo), NextToken: next}, nil
}

func (cr *catalogReader) queuesPage(in *wire.DescribeGameSessionQueuesInput) (
	queues []*catalog.Queue, next string, err error,
) {
	if len(in.Names) > 0 {
		queues, err = named(in.Names, cr.queue)
		return queues, "", err
	}
	return page(cr.secrets.Pages("DescribeGameSessionQueues"), in.NextToken,
		func(after string) ([]*catalog.Queue, bool) {
			return cr.Catalog().Queues(after, pageOf(in.Limit, queuePage))
		},
		func(q *catalog.Queue) string { return q.Name })
}

// DeleteGameSessionQueue deletes a queue. Placements that wait in it fail.
func (p *Plane) DeleteGameSessionQueue(ctx context.Context, in *wire.DeleteGameSessionQueueInput) error {
	q, err := p.queue(in.Name)
	if err != nil {
		return err
	}
	return p.Change(ctx, catalog.DeleteQueue{Name: q.Name})
}

// queue returns the queue with a name or an ARN, or NotFound.
func (cr *catalogReader) queue(nameOrArn string) (*catalog.Queue, error) {
	name, _ := cr.Local(nameOrArn, arn.ParseQueue)
	if q, ok := cr.Catalog().Queue(name); ok {
		return q, nil
	}
	return nil, notFound("Game session queue %s not found", nameOrArn)
}

// describedQueue returns a queue after a change, as the API shows it.
func (cr *catalogReader) describedQueue(name string) (*wire.GameSessionQueue, error) {
	q, err := cr.queue(name)
	if err != nil {
		return nil, err
	}
	return cr.queueTo(q), nil
}

func (sh shapes) queueTo(q *catalog.Queue) *wire.GameSessionQueue {
	out := &wire.GameSessionQueue{
		Name: q.Name, GameSessionQueueArn: sh.names.QueueARN(q.Name), TimeoutInSeconds: wire.Some(q.Timeout),
		Destinations: []wire.GameSessionQueueDestination{}, PlayerLatencyPolicies: []wire.PlayerLatencyPolicy{},
		CustomEventData: q.CustomEventData, NotificationTarget: q.NotificationTarget,
	}
	for _, d := range q.Destinations {
		out.Destinations = append(out.Destinations, wire.GameSessionQueueDestination{DestinationArn: d})
	}
	for _, policy := range q.LatencyPolicies {
		out.PlayerLatencyPolicies = append(out.PlayerLatencyPolicies, wire.PlayerLatencyPolicy{
			MaximumIndividualPlayerLatencyMilliseconds: wire.Some(policy.Cap),
			PolicyDurationSeconds:                      present(policy.Seconds),
		})
	}
	if len(q.AllowedLocations) > 0 {
		out.FilterConfiguration = &wire.FilterConfiguration{AllowedLocations: q.AllowedLocations}
	}
	if len(q.PriorityOrder)+len(q.LocationOrder) > 0 {
		priority := &wire.PriorityConfiguration{LocationOrder: q.LocationOrder}
		for _, criterion := range q.PriorityOrder {
			priority.PriorityOrder = append(priority.PriorityOrder, wire.PriorityType(criterion))
		}
		out.PriorityConfiguration = priority
	}
	return out
}
