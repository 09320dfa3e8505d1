package capacity

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestNeedOf(t *testing.T) {
	for name, want := range map[string]Need{
		"c5.large": {2000, 4 << 10}, "m6g.medium": {1000, 4 << 10}, "r5.xlarge": {4000, 32 << 10},
		"c5.9xlarge": {36_000, 72 << 10}, "g5g.4xlarge": {16_000, 32 << 10}, "t2.micro": {1000, 1 << 10},
		"t2.medium": {2000, 4 << 10}, "t3.small": {2000, 2 << 10},
	} {
		if need, ok := NeedOf(name); !ok || need != want {
			t.Errorf("%s needs %+v, %t, want %+v", name, need, ok, want)
		}
	}
	for _, name := range []string{"", "c5", "c5.", ".large", "x1.large", "c5.huge", "c5.0xlarge", "c5.xxlarge",
		"t2.metal", "c5.999xlarge"} {
		if need, ok := NeedOf(name); ok {
			t.Errorf("%q needs %+v", name, need)
		}
	}
}

// TestTypes: what is configured of a type comes before what it has in EC2.
func TestTypes(t *testing.T) {
	types := Types{"c5.large": {500, 256}, "p3.2xlarge": {8000, 1}}
	for name, want := range map[string]Need{"c5.large": {500, 256}, "p3.2xlarge": {8000, 1},
		"c5.xlarge": {4000, 8 << 10}, "p3.8xlarge": {}} {
		if need, ok := types.NeedOf(name); ok != (want != Need{}) || ok && need != want {
			t.Errorf("%s needs %+v, %t", name, need, ok)
		}
	}
}

func machine(name string, cpus int32) Machine {
	return Machine{Name: name, Location: "home", MilliCPUs: cpus * 1000, MemoryMiB: int64(cpus) * 4096, Available: true}
}

var large = Need{2000, 4096}

func group(desired int, instances ...Instance) Group {
	for i := range instances {
		instances[i].Need = large
	}
	return Group{Fleet: "f", Location: "home", Desired: desired, Need: large, Build: "b", Instances: instances}
}

func on(machine string, use Use) Instance {
	return Instance{ID: "i-" + machine + fmt.Sprint(int(use)), Machine: machine, Use: use, Build: "b"}
}

// created returns the machines of new instances.
func created(p Plan) (names []string) {
	for _, c := range p.Create {
		names = append(names, c.Machine)
	}
	return names
}

func never(string, string) bool { return false }

func TestChoiceOfTheMachine(t *testing.T) {
	drained := machine("d", 8)
	drained.Drained, drained.Available = true, false
	windows := machine("w", 8)
	windows.Windows = true
	ports := group(2)
	ports.Ports = []string{"7777"}
	for name, c := range map[string]struct {
		machines []Machine
		group    Group
		failed   Failed
		want     []string
		short    string
	}{
		"fewest free CPUs": {[]Machine{machine("a", 8), machine("b", 4)}, group(3), never, []string{"b", "b", "a"}, ""},
		"not where it failed": {[]Machine{machine("a", 8), machine("b", 4)}, group(1),
			func(m, _ string) bool { return m == "b" }, []string{"a"}, ""},
		"where it failed, if nowhere else": {[]Machine{machine("b", 4)}, group(1),
			func(string, string) bool { return true }, []string{"b"}, ""},
		"where the build is": {[]Machine{machine("a", 4), machine("b", 6)}, group(2, on("b", Idle)), never,
			[]string{"b"}, ""},
		"an empty machine is never too small": {[]Machine{machine("a", 1)}, group(2), never, []string{"a"},
			"without 2 free CPUs"},
		"no machine":      {nil, group(1), never, nil, "No machine has joined location home"},
		"a drained one":   {[]Machine{drained}, group(1), never, nil, "1 not connected, drained"},
		"another system":  {[]Machine{windows}, group(1), never, nil, "another operating system"},
		"fixed ports":     {[]Machine{machine("a", 8)}, ports, never, []string{"a"}, "{port}"},
		"ports elsewhere": {[]Machine{machine("a", 8), machine("b", 8)}, ports, never, []string{"a", "b"}, ""},
	} {
		p := Reconcile(c.machines, []Group{c.group}, c.failed)
		if got := created(p); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: created on %v, want %v", name, got, c.want)
		}
		if c.short == "" && len(p.Short) > 0 ||
			c.short != "" && (len(p.Short) != 1 || !strings.Contains(p.Short[0].Reason, c.short)) {
			t.Errorf("%s: short of %+v, want %q", name, p.Short, c.short)
		}
	}
	if p := Reconcile([]Machine{machine("a", 1)}, []Group{group(1)}, never); !p.Create[0].TooSmall {
		t.Error("a machine of one CPU has room for an instance of two")
	}
}

func TestReduction(t *testing.T) {
	all := []Machine{machine("a", 64), machine("d", 64), machine("l", 64)}
	all[1].Drained, all[1].Available, all[2].Lost = true, false, true
	ending, ended, failed := on("a", Idle), on("a", Protected), on("a", Starting)
	ending.Ends, ended.Ended, failed.Failed = true, true, true
	for name, c := range map[string]struct {
		group                   Group
		drop, terminate, retire []string
		create                  int
	}{
		"nothing to do": {group(1, on("a", Protected)), nil, nil, nil, 0},
		"idle before unprotected": {group(1, on("a", Unprotected), on("a", Idle)), nil, nil,
			[]string{"i-a1"}, 0},
		"starting before idle": {group(1, on("a", Idle), on("a", Starting)), nil, nil, []string{"i-a0"}, 0},
		"unprotected, if none is idle": {group(0, on("a", Unprotected), on("a", Protected)), nil,
			[]string{"i-a2"}, nil, 0},
		"no unprotected one beside an idle one": {group(0, on("a", Unprotected), on("a", Idle)), nil, nil,
			[]string{"i-a1"}, 0},
		"never a protected one": {group(0, on("a", Protected)), nil, nil, nil, 0},
		"one that ends":         {group(0, ending), nil, nil, nil, 0},
		"one that has ended":    {group(0, ended), []string{"i-a3"}, nil, nil, 0},
		"one that has failed":   {group(1, failed), nil, []string{"i-a0"}, nil, 1},
		"a drained machine":     {group(1, on("d", Protected)), nil, nil, []string{"i-d3"}, 1},
		"a lost machine":        {group(1, on("l", Protected)), []string{"i-l3"}, nil, nil, 1},
		"a deleted machine":     {group(1, on("x", Protected)), []string{"i-x3"}, nil, nil, 1},
		"one that could not be read": {Group{Fleet: "f", Location: "home", Desired: 9, Unknown: true,
			Instances: []Instance{on("x", Idle), ended}}, nil, nil, nil, 0},
		"closed": {Group{Fleet: "f", Location: "home", Desired: 1, Closed: true,
			Instances: []Instance{on("a", Protected)}}, nil, []string{"i-a3"}, nil, 0},
		"held": {Group{Fleet: "f", Location: "home", Desired: 2, Held: true, Instances: []Instance{failed}},
			nil, nil, nil, 0},
	} {
		p := Reconcile(all, []Group{c.group}, never)
		if !reflect.DeepEqual(p.Drop, c.drop) || !reflect.DeepEqual(append(p.Terminate, p.Evict...), c.terminate) ||
			!reflect.DeepEqual(p.Retire, c.retire) || len(p.Create) != c.create {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestPlans: whatever there is, a plan ends no protected instance of an open group, gives no machine more than it has
// unless it was empty, and reaches the desired number unless there is a shortage.
func TestPlans(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var all []Machine
		for i := range r.IntN(6) {
			m := machine(fmt.Sprint("m", i), 1+r.Int32N(16))
			m.Drained = r.IntN(6) == 0
			m.Available, m.Lost = !m.Drained && r.IntN(6) > 0, r.IntN(8) == 0
			all = append(all, m)
		}
		g := group(r.IntN(8))
		for i := range r.IntN(8) {
			in := on(fmt.Sprint("m", r.IntN(6)), Use(r.IntN(4)))
			in.ID, in.Need = fmt.Sprint("i-", i), large
			in.Ends, in.Ended = r.IntN(6) == 0, r.IntN(8) == 0
			g.Instances = append(g.Instances, in)
		}
		check(t, seed, all, &g, Reconcile(all, []Group{g}, never))
	}
}

func check(t *testing.T, seed uint64, all []Machine, g *Group, p Plan) {
	t.Helper()
	used, live := map[string]int32{}, len(p.Create)
	for _, in := range g.Instances {
		goes := slices.Contains(p.Drop, in.ID) || slices.Contains(p.Terminate, in.ID) ||
			slices.Contains(p.Retire, in.ID) || slices.Contains(p.Evict, in.ID)
		if slices.Contains(append(p.Terminate, p.Evict...), in.ID) && in.Use == Protected {
			t.Errorf("seed %d: protected instance %+v ends", seed, in)
		}
		if !in.Ended {
			used[in.Machine] += in.Need.MilliCPUs
		}
		if !goes && !in.Ends {
			live++
		}
	}
	for _, c := range p.Create {
		i := slices.IndexFunc(all, func(m Machine) bool { return m.Name == c.Machine })
		before := used[c.Machine]
		used[c.Machine] += large.MilliCPUs
		if !all[i].Available || before > 0 && used[c.Machine] > all[i].MilliCPUs {
			t.Errorf("seed %d: an instance on %+v, which has %d", seed, all[i], before)
		}
	}
	if live < g.Desired && (len(p.Short) != 1 || p.Short[0].Missing != g.Desired-live) {
		t.Errorf("seed %d: %d instances of %d desired, and the shortages %+v", seed, live, g.Desired, p.Short)
	}
}

// TestMaxInstances: a machine has no more instances than its protocol allows.
func TestMaxInstances(t *testing.T) {
	p := Reconcile([]Machine{machine("huge", 4096)}, []Group{group(MaxInstances + 5)}, never)
	if len(p.Create) != MaxInstances || len(p.Short) != 1 {
		t.Errorf("%d instances, %+v", len(p.Create), p.Short)
	}
}

// TestSpare: what fits besides the instances that there are.
func TestSpare(t *testing.T) {
	lost, elsewhere := machine("l", 8), machine("e", 8)
	lost.Available, elsewhere.Location = false, "away"
	all := []Machine{machine("a", 8), machine("tiny", 1), lost, elsewhere}
	two, ended := on("a", Idle), on("a", Protected)
	two.Need, ended.Need, ended.Ended = large, large, true
	for name, c := range map[string]struct {
		instances []Instance
		need      Need
		want      int
	}{
		"empty machines, however small": {nil, large, 4 + 1},
		"beside an instance":            {[]Instance{two, ended}, large, 3 + 1},
		"by memory":                     {[]Instance{two}, Need{1000, 10 << 10}, 2 + 1},
		"too large, but empty":          {[]Instance{two}, Need{64_000, 128 << 10}, 1},
		"no more than the protocol has": {nil, Need{1, 1}, MaxInstances + MaxInstances},
	} {
		if got := Spare(all, c.instances, "home", c.need); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
