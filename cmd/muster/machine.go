package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/operator"
)

func (a *app) machineCommand() *cobra.Command {
	return parentCommand(help{
		use:   "machine",
		short: "Manage the machines that have joined a location",
		long: `List, drain and delete the machines that have joined with "muster agent --machine",
and create the tokens with which they join.`,
		example: `  muster machine token create --location custom-office --ttl 1h
  muster machine list
  muster machine drain box-1`,
	}, a.machinesCommand("list"), a.machineDrainCommand(true), a.machineDrainCommand(false), a.machineDeleteCommand(),
		a.machineTokenCommand())
}

// machinesCommand lists machines: as "muster machine list" and "muster get machines".
func (a *app) machinesCommand(use string) *cobra.Command {
	query := url.Values{}
	var limit int
	command := a.viewCommand(help{
		use:   use,
		short: "List the machines that have joined a location",
		long: `List the machines that have joined a location. A machine is ONLINE while its reports
arrive, RECONNECTING for 30 seconds without one, then LOST.`,
		example: "  muster get machines\n  muster machine list --location custom-office -o wide",
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		all := control.MachineList{Machines: []control.MachineRow{}}
		err := o.pages(ctx, path("machines"), query, limit, func(path string) (string, int, error) {
			var page control.MachineList
			err := o.ask(ctx, path, &page)
			all.Machines = append(all.Machines, page.Machines...)
			return page.NextToken, len(all.Machines), err
		})
		if err != nil {
			return err
		}
		all.Machines = all.Machines[:min(len(all.Machines), limit)]
		return o.show(all, func(to io.Writer) {
			o.line(to, cells{"MACHINE", "LOCATION", "STATUS", "DRAINED", "CPUS", "MEMORY MIB", "INSTANCES",
				"VERSION", "LAST REPORT"}, "IP", "DNS", "PORTS", "OS", "ARCH", "LOAD", "FREE MIB", "GENERATION",
				"JOINED")
			for _, m := range all.Machines {
				o.line(to, cells{m.Name, m.Location, string(m.Status), m.Drained, m.CPUs, m.MemoryMiB, m.Instances,
					m.Version, m.LastReport}, m.IP, m.DNS, m.PortRange, m.OS, m.Arch, optionalText(m.Load),
					optionalText(m.FreeMemoryMiB), fmt.Sprintf("%d/%d", m.Acting, m.Generation), m.JoinTime)
			}
		})
	})
	f := command.Flags()
	for _, p := range []struct{ name, usage string }{
		{"location", "only those at a location"}, {"status", "only those in a status: ONLINE, RECONNECTING, LOST"},
	} {
		f.Func(p.name, p.usage, func(value string) error {
			query.Set(p.name, value)
			return nil
		})
	}
	f.IntVar(&limit, "limit", 1000, "maximum number of machines")
	return command
}

// getInstancesCommand lists the instances of EC2-type fleets.
func (a *app) getInstancesCommand() *cobra.Command {
	query := url.Values{}
	var limit int
	command := a.viewCommand(help{
		use:   "instances",
		short: "List the instances of EC2-type fleets",
		long: `List the instances of EC2-type fleets, with how far their machines have come: an instance
is PENDING until a server process is ready, then ACTIVE.`,
		example: "  muster get instances\n  muster get instances --machine box-1 -o wide",
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		all := control.InstanceList{Instances: []control.InstanceRow{}}
		err := o.pages(ctx, path("instances"), query, limit, func(path string) (string, int, error) {
			var page control.InstanceList
			err := o.ask(ctx, path, &page)
			all.Instances = append(all.Instances, page.Instances...)
			return page.NextToken, len(all.Instances), err
		})
		if err != nil {
			return err
		}
		all.Instances = all.Instances[:min(len(all.Instances), limit)]
		return o.show(all, func(to io.Writer) {
			o.line(to, cells{"INSTANCE", "FLEET", "LOCATION", "MACHINE", "STATUS", "STAGE", "PROCESSES", "FAILURE"},
				"TYPE", "BUILD", "CREATED")
			for _, i := range all.Instances {
				o.line(to, cells{i.InstanceID, i.FleetID, i.Location, i.Machine, i.Status, i.Stage, i.Processes,
					i.Failure}, i.Type, i.BuildID, i.CreationTime)
			}
		})
	})
	f := command.Flags()
	for _, p := range []struct{ name, usage string }{
		{"fleet", "only those of a fleet"}, {"location", "only those at a location"},
		{"machine", "only those on a machine"}, {"status", "only those in a status: PENDING, ACTIVE, TERMINATING"},
	} {
		f.Func(p.name, p.usage, func(value string) error {
			query.Set(p.name, value)
			return nil
		})
	}
	f.IntVar(&limit, "limit", 1000, "maximum number of instances")
	return command
}

// optionalText returns a number as text; "" for one that is not known.
func optionalText[N any](n *N) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

func (a *app) machineDrainCommand(drain bool) *cobra.Command {
	verb, done, short := "undrain", "Machine %s is not drained any more.", "End the draining of machines"
	long := "End the draining of machines: they are used again."
	if drain {
		verb, done, short = "drain", "Machine %s is drained.", "Drain machines"
		long = `Drain machines: nothing new begins there, and what runs goes on. A drained machine
can be deleted.`
	}
	return a.operatorCommand(help{
		use: verb + " NAME...", short: short, long: long, example: "  muster machine " + verb + " box-1",
	}, cobra.MinimumNArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		for _, name := range args {
			var m control.MachineRow
			if err := o.send(ctx, http.MethodPost, path("machines", name, verb), nil, &m); err != nil {
				return fmt.Errorf("%s machine %s: %w", verb, name, err)
			}
			if err := o.say(done+continuing(&m), name); err != nil {
				return err
			}
		}
		return nil
	})
}

// continuing is a sentence about what runs on a drained machine; "" if nothing does.
func continuing(m *control.MachineRow) string {
	switch {
	case !m.Drained || m.Instances == 0:
		return ""
	case m.GameSessions == nil:
		return fmt.Sprintf(" Until they end, these continue: %s.", counted(m.Instances, "instance"))
	}
	return fmt.Sprintf(" Until they end, these continue: %s with %s.", counted(m.Instances, "instance"),
		counted(*m.GameSessions, "game session"))
}

func (a *app) machineDeleteCommand() *cobra.Command {
	var force bool
	command := a.operatorCommand(help{
		use:   "delete NAME...",
		short: "Delete machines that are drained or lost",
		long: `Delete machines that are drained or LOST. One that is not LOST must have no instance any
more; with --force its instances end, with their game sessions. The keys of deleted machines
are not accepted any more: to join again, such a machine needs a token.`,
		example: "  muster machine delete box-1",
	}, cobra.MinimumNArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		for _, name := range args {
			at := path("machines", name)
			if force {
				at += "?force=true"
			}
			if err := o.send(ctx, http.MethodDelete, at, nil, nil); err != nil {
				return fmt.Errorf("delete machine %s: %w", name, err)
			}
			if err := o.say("Deleted machine %s.", name); err != nil {
				return err
			}
		}
		return nil
	})
	command.Flags().BoolVar(&force, "force", false, "also end the instances of the machines, with their game sessions")
	return command
}

func (a *app) machineTokenCommand() *cobra.Command {
	return parentCommand(help{
		use:   "token",
		short: "Manage the tokens with which machines join",
		long: `Manage join tokens. A token is for one machine and one location. The service keeps its
hash alone.`,
		example: `  muster machine token create --location custom-office --ttl 1h
  muster machine token list`,
	}, a.tokenCreateCommand(), a.tokenListCommand(), a.tokenRevokeCommand())
}

func (a *app) tokenCreateCommand() *cobra.Command {
	var in control.MachineTokenInput
	ttl := days(time.Hour)
	command := a.showCommand(help{
		use:   "create --location LOCATION",
		short: "Create a join token, and print it",
		long: `Create a join token, and print it. It is printed once, and lets one machine join the
location within its time.`,
		example: "  muster machine token create --location custom-office --ttl 1h > token",
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		if in.TTLSeconds = int64(time.Duration(ttl) / time.Second); in.TTLSeconds < 1 {
			return &misuseError{errors.New("--ttl must be at least 1s")}
		}
		var made control.MachineTokenCreated
		if err := o.send(ctx, http.MethodPost, path("machine-tokens"), in, &made); err != nil {
			return fmt.Errorf("create a join token: %w", err)
		}
		return o.show(made, func(to io.Writer) { fmt.Fprintln(to, made.Token) })
	})
	command.Flags().StringVar(&in.Location, "location", "", "custom location, or code of a Region (required)")
	command.Flags().Var(&ttl, "ttl", "how long the token can be used, at most 30d")
	_ = command.MarkFlagRequired("location") // the flag exists
	return command
}

func (a *app) tokenListCommand() *cobra.Command {
	return a.showCommand(help{
		use: "list", short: "List the join tokens that were not used",
		long: "List the join tokens that were not used.", example: "  muster machine token list",
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		var list operator.MachineTokenList
		if err := o.ask(ctx, path("machine-tokens"), &list); err != nil {
			return fmt.Errorf("list the join tokens: %w", err)
		}
		return o.show(list, func(to io.Writer) {
			row(to, "TOKEN", "LOCATION", "CREATED", "EXPIRES")
			for _, t := range list.Tokens {
				row(to, t.ID, t.Location, t.Created, t.Expires)
			}
		})
	})
}

func (a *app) tokenRevokeCommand() *cobra.Command {
	return a.operatorCommand(help{
		use: "revoke TOKEN", short: "Revoke a join token that was not used",
		long:    `Revoke a join token, by its id in "muster machine token list".`,
		example: "  muster machine token revoke mt-0123456789abcdef",
	}, cobra.ExactArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		if err := o.send(ctx, http.MethodDelete, path("machine-tokens", args[0]), nil, nil); err != nil {
			return fmt.Errorf("revoke the join token: %w", err)
		}
		return o.say("Revoked join token %s.", args[0])
	})
}
