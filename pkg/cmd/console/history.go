// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
)

const (
	maxSteps = 100
	maxLines = 40
)

// historyPart is the serials of a zone, and the difference between two.
type historyPart struct {
	From, To   int64
	Compared   bool
	Difference []diffLine
	Steps      []*step
	// Anonymous is true if the user may not read users and Records of the changes.
	Anonymous bool
	Problem   string
	Lack      *lack
}

// step is a serial with its change.
type step struct {
	v1alpha1.ZoneChange
	Lines []diffLine
	// Compare is the query of a comparison of the serial before with the newest.
	Compare string
}

func readHistory(ctx context.Context, r *reading, zone *v1alpha1.Zone, asked url.Values) *historyPart {
	part := &historyPart{}
	from, to := asked.Get("from"), asked.Get("to")
	part.From, _ = strconv.ParseInt(from, 10, 64)
	part.To, _ = strconv.ParseInt(to, 10, 64)
	if zone.Status.Serial == 0 {
		return part
	}
	if from != "" || to != "" {
		part.compareSerials(ctx, r, zone)
	}
	changes, err := r.readNewest(ctx, zone, map[string]string{"sources": "true"})
	if apierrors.IsForbidden(err) {
		part.Anonymous = true
		changes, err = r.readNewest(ctx, zone, map[string]string{})
	}
	if err != nil {
		part.Lack = lackOf(err, "get", "zones/changes", zone.Namespace)
		return part
	}
	for _, change := range slices.Backward(changes) {
		query := url.Values{"from": {fmt.Sprint(change.From)}, "to": {fmt.Sprint(zone.Status.Serial)}}
		part.Steps = append(part.Steps, &step{change, linesOf(netOf([]v1alpha1.ZoneChange{change})), "?" + query.Encode()})
	}
	return part
}

func (h *historyPart) compareSerials(ctx context.Context, r *reading, zone *v1alpha1.Zone) {
	if h.From <= 0 || h.To <= 0 || h.From > 1<<32-1 || h.To > 1<<32-1 {
		h.Problem = "compare two serials: each is a number from 1 to 4294967295"
		return
	}
	if serial.Serial(h.From).Ahead(serial.Serial(h.To)) {
		h.From, h.To = h.To, h.From
	}
	if h.From == h.To {
		h.Compared = true
		return
	}
	changes, err := r.readChanges(ctx, zone, map[string]string{"since": fmt.Sprint(h.From), "until": fmt.Sprint(h.To)})
	switch {
	case apierrors.IsForbidden(err):
		h.Lack = lackOf(err, "get", "zones/changes", zone.Namespace)
	case err != nil:
		h.Problem = err.Error()
	default:
		h.Compared, h.Difference = true, linesOf(netOf(changes))
	}
}

// readNewest returns about maxSteps changes, or all if serials are not consecutive.
func (r *reading) readNewest(ctx context.Context, zone *v1alpha1.Zone, parameters map[string]string) ([]v1alpha1.ZoneChange, error) {
	if since := zone.Status.Serial - maxSteps; since > 0 && zone.Status.ContentGeneration > maxSteps {
		parameters["since"] = fmt.Sprint(since)
		changes, err := r.readChanges(ctx, zone, parameters)
		if !apierrors.IsResourceExpired(err) {
			return changes, err
		}
		delete(parameters, "since")
	}
	return r.readChanges(ctx, zone, parameters)
}

// readChanges returns changes, the oldest first; of all only the newest maxSteps.
func (r *reading) readChanges(ctx context.Context, zone *v1alpha1.Zone, parameters map[string]string) ([]v1alpha1.ZoneChange, error) {
	request := r.api.RESTClient().Get().Namespace(zone.Namespace).Resource("zones").Name(zone.Name).SubResource("changes")
	for name, value := range parameters {
		request.Param(name, value)
	}
	stream, err := request.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	return decodeChanges(stream, parameters["until"] == "")
}

func decodeChanges(stream io.Reader, newest bool) (changes []v1alpha1.ZoneChange, err error) {
	decoder := json.NewDecoder(stream)
	for key := json.Token(nil); key != "changes"; {
		if key, err = decoder.Token(); err != nil {
			return nil, err
		}
	}
	if _, err := decoder.Token(); err != nil { // [
		return nil, err
	}
	for decoder.More() {
		var change v1alpha1.ZoneChange
		if err := decoder.Decode(&change); err != nil {
			return nil, err
		}
		if changes = append(changes, change); newest && len(changes) == 2*maxSteps {
			changes = slices.Clone(changes[maxSteps:])
		}
	}
	if newest && len(changes) > maxSteps {
		changes = changes[len(changes)-maxSteps:]
	}
	return changes, nil
}

// netOf returns the sum of changes without the SOA: above 0 for an added entry, below for a removed one.
func netOf(changes []v1alpha1.ZoneChange) map[string]int {
	net := map[string]int{}
	for _, change := range changes {
		for by, entries := range map[int][]v1alpha1.Entry{-1: change.Removed, 1: change.Added} {
			for _, e := range entries {
				if e.Type != "SOA" {
					net[fmt.Sprintf("%s %d %s %s", e.FQDN, e.TTL, e.Type, e.RData)] += by
				}
			}
		}
	}
	return net
}

func linesOf(net map[string]int) (lines []diffLine) {
	for text, n := range net {
		switch {
		case n < 0:
			lines = append(lines, diffLine{"minus", "- " + text})
		case n > 0:
			lines = append(lines, diffLine{"plus", "+ " + text})
		}
	}
	slices.SortFunc(lines, func(a, b diffLine) int {
		return cmp.Or(cmp.Compare(a.Text[2:], b.Text[2:]), cmp.Compare(b.Kind, a.Kind))
	})
	if more := len(lines) - maxLines; more > 0 {
		lines = append(lines[:maxLines], diffLine{"tilde", fmt.Sprintf("and %d more", more)})
	}
	return lines
}
