package capacity

import (
	"strconv"
	"strings"
)

// A Need is what an instance needs of a machine.
type Need struct {
	MilliCPUs int32
	MemoryMiB int64
}

// memoryPerCPU is the memory of an instance type in MiB for each CPU, by the letter of its family. Source: EC2 user
// guide, "Instance types".
var memoryPerCPU = map[byte]int64{'c': 2 << 10, 'g': 2 << 10, 'm': 4 << 10, 'r': 8 << 10}

// burstable are the types of the families t2 and t3, which share sizes. Source: EC2 user guide, "Burstable performance
// instances".
var burstable = map[string]Need{
	"nano": {2000, 512}, "micro": {2000, 1 << 10}, "small": {2000, 2 << 10}, "medium": {2000, 4 << 10},
	"large": {2000, 8 << 10}, "xlarge": {4000, 16 << 10}, "2xlarge": {8000, 32 << 10},
}

// oneCPU are the types of family t2 that have one CPU instead of two.
var oneCPU = map[string]bool{"nano": true, "micro": true, "small": true}

// Types are what instances of types need, where it is not what they have in EC2. Types that this package does not know
// can be among them.
type Types map[string]Need

// NeedOf returns what an instance of a type needs; false if that is not known.
func (t Types) NeedOf(instanceType string) (Need, bool) {
	if need, ok := t[instanceType]; ok {
		return need, true
	}
	return NeedOf(instanceType)
}

// NeedOf returns what an instance of a type needs, by the name of the type; false if the name says nothing.
func NeedOf(instanceType string) (Need, bool) {
	family, size, ok := strings.Cut(instanceType, ".")
	if !ok || family == "" {
		return Need{}, false
	}
	if family[0] == 't' {
		need, ok := burstable[size]
		if family == "t2" && oneCPU[size] {
			need.MilliCPUs = 1000
		}
		return need, ok
	}
	perCPU, ok := memoryPerCPU[family[0]]
	cpus := cpusOf(size)
	return Need{cpus * 1000, int64(cpus) * perCPU}, ok && cpus > 0
}

// cpusOf returns the number of CPUs of a size; 0 for an unknown one.
func cpusOf(size string) int32 {
	switch size {
	case "medium":
		return 1
	case "large":
		return 2
	case "xlarge":
		return 4
	}
	times, ok := strings.CutSuffix(size, "xlarge")
	n, err := strconv.ParseInt(times, 10, 8)
	if !ok || err != nil || n < 1 {
		return 0
	}
	return int32(n) * 4
}
