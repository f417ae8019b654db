// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"context"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

const (
	entriesTime = 15 * time.Minute
	changesTime = time.Minute
)

// Read returns a zone's newest snapshot, without a check of its hash.
func Read(ctx context.Context, client rest.Interface, zone *v1alpha1.Zone) (*zoneview.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, entriesTime)
	defer cancel()
	body, err := requestSubresource(ctx, client, zone, "entries", nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	snapshot, err := decodeDefinition(body, zoneview.Zone{UID: string(zone.UID), View: zone.Status.View, Namespace: zone.Namespace,
		Name: zone.Name})
	if err != nil {
		return nil, fmt.Errorf("entries of zone %s/%s: %w", zone.Namespace, zone.Name, err)
	}
	return snapshot, nil
}

// ReadSteps reads a zone's steps, the changes by one serial each, from the serial since to the serial until. If
// withTraces is true, the steps contain the W3C traceparents of their writes, and the client needs the right to list
// Records.
func ReadSteps(ctx context.Context, client rest.Interface, zone *v1alpha1.Zone, since, until serial.Serial, withTraces bool) (
	[]content.Step, error) {
	ctx, cancel := context.WithTimeout(ctx, changesTime)
	defer cancel()
	query := map[string]string{"since": since.String(), "until": until.String()}
	if withTraces {
		query["sources"] = "true"
	}
	body, err := requestSubresource(ctx, client, zone, "changes", query)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	steps, err := decodeSteps(body, string(zone.UID), since, until)
	if err != nil {
		return nil, fmt.Errorf("changes of zone %s/%s from serial %d to %d: %w", zone.Namespace, zone.Name, since, until, err)
	}
	return steps, nil
}

func requestSubresource(ctx context.Context, client rest.Interface, zone *v1alpha1.Zone, subresource string,
	parameters map[string]string) (io.ReadCloser, error) {
	request := client.Get().Namespace(zone.Namespace).Resource("zones").Name(zone.Name).SubResource(subresource).
		Param("form", v1alpha1.FormDefinition).SetHeader("Accept", "application/json")
	for name, value := range parameters {
		request = request.Param(name, value)
	}
	return request.Stream(ctx)
}
