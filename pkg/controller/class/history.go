// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/generated/clientset/versioned"
	"kubi.zone/kubizone/pkg/zoneview"
)

// history asks the server for changes of zones.
type history struct {
	client versioned.Interface
	index  *index
}

// readChanges asks for what the Views of a process that was started later do not have.
func (h history) readChanges(ctx context.Context, uid string, since, until serial.Serial) ([]dns.Change, error) {
	zone := h.index.zoneByUID(uid)
	if zone == nil {
		return nil, errNoZone
	}
	var answer v1alpha1.ZoneChanges
	err := h.request(zone, since).Param("until", strconv.FormatUint(uint64(until), 10)).Do(ctx).Into(&answer)
	switch {
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		return nil, fmt.Errorf("%w: %w", zoneview.ErrTrimmed, err)
	case err != nil:
		return nil, err
	case answer.Metadata.UID != uid:
		return nil, errNoZone
	}
	changes := make([]dns.Change, len(answer.Changes))
	for i, change := range answer.Changes {
		if changes[i], err = ChangeOf(change); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

func (h history) request(zone *v1alpha1.Zone, since serial.Serial) *rest.Request {
	return h.client.KubizoneV1alpha1().RESTClient().Get().Namespace(zone.Namespace).Resource("zones").Name(zone.Name).SubResource("changes").
		Param("since", strconv.FormatUint(uint64(since), 10))
}

// ChangeOf reads one change of an answer.
func ChangeOf(listed v1alpha1.ZoneChange) (change dns.Change, err error) {
	change.From, change.To = serial.Serial(listed.From), serial.Serial(listed.To)
	if change.Removed, err = entriesOf(listed.Removed); err != nil {
		return change, err
	}
	change.Added, err = entriesOf(listed.Added)
	return change, err
}

// readLeft asks what a zone that ended had since a serial.
func (h history) readLeft(ctx context.Context, uid string, since serial.Serial) (name.Name, []delivery.RRsetKey, error) {
	zone := h.index.zoneByUID(uid)
	if zone == nil {
		return name.Name{}, nil, errNoZone
	}
	if zone.Status.FQDN != "" {
		return name.Name{}, nil, errStands
	}
	var answer v1alpha1.ZoneChanges
	if err := h.request(zone, since).Do(ctx).Into(&answer); err != nil {
		return name.Name{}, nil, err
	}
	return leftOf(&answer, uid)
}

// errStands refuses to take the changes of a zone for all that it has: that is in its view.
var errStands = errors.New("the zone has not ended")

// leftOf reads an answer. Each change of a zone that stands has a SOA, so that it is not taken for all that a zone had.
func leftOf(answer *v1alpha1.ZoneChanges, uid string) (name.Name, []delivery.RRsetKey, error) {
	if answer.Metadata.UID != uid {
		return name.Name{}, nil, errNoZone
	}
	if len(answer.Changes) != 1 || len(answer.Changes[0].Added) > 0 {
		return name.Name{}, nil, errStands
	}
	fqdn, err := name.Parse(answer.FQDN)
	if err != nil {
		return name.Name{}, nil, err
	}
	entries, err := entriesOf(answer.Changes[0].Removed)
	if err != nil {
		return name.Name{}, nil, err
	}
	keys := make([]delivery.RRsetKey, len(entries))
	for i, entry := range entries {
		if entry.Type == rdata.SOA {
			return name.Name{}, nil, errStands
		}
		keys[i] = delivery.RRsetKey{Name: entry.Name, Type: entry.Type}
	}
	return fqdn, keys, nil
}

func entriesOf(listed []v1alpha1.Entry) ([]dns.Entry, error) {
	entries := make([]dns.Entry, len(listed))
	for i, one := range listed {
		owner, err := name.Parse(one.FQDN)
		if err != nil {
			return nil, err
		}
		t, err := rdata.ParseType(one.Type)
		if err != nil {
			return nil, err
		}
		entries[i] = dns.Entry{Name: owner, Type: t, TTL: uint32(one.TTL), Data: one.RData}
	}
	return entries, nil
}
