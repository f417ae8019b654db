// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zoneview"
)

// history asks the server for what the Views of a process that was started later do not have.
func (c *Controller) history(ctx context.Context, uid string, since, until serial.Serial) ([]dns.Change, error) {
	zone := c.zoneByUID(uid)
	if zone == nil {
		return nil, errNoZone
	}
	var answer v1alpha1.ZoneChanges
	err := c.config.Client.KubizoneV1alpha1().RESTClient().Get().Namespace(zone.Namespace).Resource("zones").Name(zone.Name).SubResource("changes").
		Param("since", strconv.FormatUint(uint64(since), 10)).Param("until", strconv.FormatUint(uint64(until), 10)).Do(ctx).Into(&answer)
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
		changes[i] = dns.Change{From: serial.Serial(change.From), To: serial.Serial(change.To)}
		if changes[i].Removed, err = entriesOf(change.Removed); err != nil {
			return nil, err
		}
		if changes[i].Added, err = entriesOf(change.Added); err != nil {
			return nil, err
		}
	}
	return changes, nil
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
