// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/lawform"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

type history struct {
	client versioned.Interface
	index  *objects.Index
}

// readChanges reads changes from before the start of this process, which Views lack.
func (h history) readChanges(ctx context.Context, uid string, since, until serial.Serial) ([]dns.Change, error) {
	changes, err := h.askChanges(ctx, uid, since, until)
	if err != nil {
		return nil, err
	}
	return lawform.Changes(changes)
}

// readTime returns the time of the first of these changes, zero if unknown.
func (h history) readTime(ctx context.Context, uid string, since, until serial.Serial) time.Time {
	changes, err := h.askChanges(ctx, uid, since, until)
	if err != nil || len(changes) == 0 || changes[0].Time == nil {
		return time.Time{}
	}
	return changes[0].Time.Time
}

// askChanges returns the changes of a zone after since up to until. For trimmed changes the error wraps
// zoneview.ErrTrimmed.
func (h history) askChanges(ctx context.Context, uid string, since, until serial.Serial) ([]v1alpha1.ZoneChange, error) {
	zone := h.index.ZoneByUID(uid)
	if zone == nil {
		return nil, errNoZone
	}
	var answer v1alpha1.ZoneChanges
	err := h.request(zone, since).Param("until", until.String()).Do(ctx).Into(&answer)
	switch {
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		return nil, fmt.Errorf("%w: %w", zoneview.ErrTrimmed, err)
	case err != nil:
		return nil, err
	// The Zone was deleted and made again with the same name.
	case answer.Metadata.UID != uid:
		return nil, errNoZone
	}
	return answer.Changes, nil
}

func (h history) request(zone *v1alpha1.Zone, since serial.Serial) *rest.Request {
	return h.client.KubizoneV1alpha1().RESTClient().Get().Namespace(zone.Namespace).Resource("zones").Name(zone.Name).SubResource(
		"changes").
		Param("since", since.String())
}

// readEndedRRsets returns the RRsets of an ended zone at since or later, whose content no view has. The error is
// errNotEnded for any other zone.
func (h history) readEndedRRsets(ctx context.Context, uid string, since serial.Serial) ([]delivery.RRsetKey, error) {
	zone := h.index.ZoneByUID(uid)
	if zone == nil {
		return nil, errNoZone
	}
	if zone.Status.FQDN != "" {
		return nil, errNotEnded
	}
	var answer v1alpha1.ZoneChanges
	if err := h.request(zone, since).Do(ctx).Into(&answer); err != nil {
		return nil, err
	}
	return endedRRsets(&answer, uid)
}

var errNotEnded = errors.New("the zone has not ended")

// endedRRsets returns the RRsets in the answer of an ended zone: a single change that removes all. Any other answer is
// errNotEnded.
func endedRRsets(answer *v1alpha1.ZoneChanges, uid string) ([]delivery.RRsetKey, error) {
	if answer.Metadata.UID != uid {
		return nil, errNoZone
	}
	if len(answer.Changes) != 1 || len(answer.Changes[0].Added) > 0 {
		return nil, errNotEnded
	}
	changes, err := lawform.Changes(answer.Changes)
	if err != nil {
		return nil, err
	}
	keys := make([]delivery.RRsetKey, len(changes[0].Removed))
	for i, entry := range changes[0].Removed {
		if entry.Type == rdata.SOA {
			return nil, errNotEnded
		}
		keys[i] = delivery.RRsetKey{Name: entry.Name, Type: entry.Type}
	}
	return keys, nil
}
