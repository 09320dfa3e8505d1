package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/control"
)

// weightsCommand shows and changes the weights of an alias.
func (a *app) weightsCommand() *cobra.Command {
	var end bool
	command := a.viewCommand(help{
		use:   "weights ALIAS [FLEET=PERCENT...]",
		short: "Share the new game sessions of an alias among fleets",
		long: `Show the shares that fleets have of the new game sessions of an alias, or change them.
Alias and fleets are given by id, ARN or name. The shares are whole percents and add up
to 100; any 100 game sessions in a row are shared like that.`,
		example: "  muster weights live arena-1=90 arena-2=10\n  muster weights live\n  muster weights live --end",
	}, cobra.MinimumNArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		weights, err := parseWeights(args[1:])
		if err == nil && end && len(weights) > 0 {
			err = errors.New("--end takes no shares")
		}
		if err != nil {
			return &misuseError{err}
		}
		alias, err := aliasNamed(ctx, o.gamelift(), args[0])
		if err != nil {
			return err
		}
		for i := range weights {
			fleet, err := fleetNamed(ctx, o.gamelift(), weights[i].FleetID)
			if err != nil {
				return err
			}
			weights[i].FleetID = *fleet.FleetId
		}
		method, at := http.MethodGet, path("aliases", *alias.AliasId, "weights")
		var in any
		if end || len(weights) > 0 {
			method, in = http.MethodPut, weights
		}
		var now control.AliasWeights
		if err := o.send(ctx, method, at, in, &now); err != nil {
			return fmt.Errorf("weights of alias %s: %w", *alias.AliasId, err)
		}
		return o.show(now, func(to io.Writer) {
			o.line(to, cells{"FLEET", "WEIGHT"})
			for _, w := range now.Weights {
				o.line(to, cells{w.FleetID, w.Weight})
			}
		})
	})
	command.Flags().BoolVar(&end, "end", false, "end the weights: the alias leads to one fleet again")
	return command
}

// parseWeights reads the shares of fleets.
func parseWeights(args []string) ([]control.AliasWeight, error) {
	all := []control.AliasWeight{}
	for _, arg := range args {
		i := strings.LastIndexByte(arg, '=')
		if i <= 0 {
			return nil, fmt.Errorf("%q is no share: write it as FLEET=PERCENT", arg)
		}
		percent, err := strconv.ParseInt(arg[i+1:], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is no share: the percent must be a whole number", arg)
		}
		all = append(all, control.AliasWeight{FleetID: arg[:i], Weight: int32(percent)})
	}
	return all, nil
}
