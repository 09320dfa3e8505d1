package operator

import (
	"context"
	"strconv"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A MachineRegion answers the requests about machines.
type MachineRegion interface {
	Machines(ctx context.Context, q control.MachineQuery) (*control.MachineList, error)
	Machine(ctx context.Context, name string) (*control.MachineRow, error)
	DrainMachine(ctx context.Context, name string, drained bool) (*control.MachineRow, error)
	DeleteMachine(ctx context.Context, name string, force bool) error
	MachineTokens() []control.MachineTokenRow
	CreateMachineToken(ctx context.Context, in control.MachineTokenInput) (*control.MachineTokenCreated, error)
	DeleteMachineToken(ctx context.Context, id string) error
	Instances(ctx context.Context, q control.InstanceQuery) (*control.InstanceList, error)
}

// A MachineTokenList is the answer of GET /v1/machine-tokens.
type MachineTokenList struct {
	Tokens []control.MachineTokenRow `json:"tokens"`
}

func (d *Handler) machines(c *call) (*control.MachineList, error) {
	values, err := c.parameters()
	if err != nil {
		return nil, err
	}
	limit, err := rowLimit(values)
	if err != nil {
		return nil, err
	}
	return d.Region.Machines(c.Context(), control.MachineQuery{Location: values["location"], Status: values["status"],
		After: values["after"], Limit: limit})
}

func (d *Handler) machine(c *call) (*control.MachineRow, error) {
	return d.Region.Machine(c.Context(), c.PathValue("name"))
}

func (d *Handler) drainMachine(c *call) (*control.MachineRow, error) {
	return d.Region.DrainMachine(c.Context(), c.PathValue("name"), true)
}

func (d *Handler) undrainMachine(c *call) (*control.MachineRow, error) {
	c.event = "MachineUndrain"
	return d.Region.DrainMachine(c.Context(), c.PathValue("name"), false)
}

func (d *Handler) deleteMachine(c *call) (Deleted, error) {
	values, err := c.parameters()
	if err != nil {
		return Deleted{}, err
	}
	force, err := optional(values, "force", strconv.ParseBool)
	if err != nil {
		return Deleted{}, fault.New(fault.InvalidRequest, "force is %.100q; it must be true or false.", values["force"])
	}
	name := c.PathValue("name")
	return deletedUnless(d.Region.DeleteMachine(c.Context(), name, force), name)
}

func (d *Handler) instances(c *call) (*control.InstanceList, error) {
	values, err := c.parameters()
	if err != nil {
		return nil, err
	}
	limit, err := rowLimit(values)
	if err != nil {
		return nil, err
	}
	return d.Region.Instances(c.Context(), control.InstanceQuery{Fleet: values["fleet"], Location: values["location"],
		Machine: values["machine"], Status: values["status"], After: values["after"], Limit: limit})
}

func (d *Handler) machineTokens(*call) (*MachineTokenList, error) {
	return &MachineTokenList{d.Region.MachineTokens()}, nil
}

// tokenLocation names the location of a new token, so that a policy can allow machines of some locations only.
func tokenLocation(_ *call, in *control.MachineTokenInput) []string {
	return []string{"location/" + in.Location}
}

func (d *Handler) createMachineToken(c *call, in *control.MachineTokenInput) (*control.MachineTokenCreated, error) {
	made, err := d.Region.CreateMachineToken(c.Context(), *in)
	if err == nil {
		c.note("token", made.ID)
		c.note("location", made.Location)
	}
	return made, err
}

func (d *Handler) deleteMachineToken(c *call) (Deleted, error) {
	id := c.PathValue("id")
	return deletedUnless(d.Region.DeleteMachineToken(c.Context(), id), id)
}
