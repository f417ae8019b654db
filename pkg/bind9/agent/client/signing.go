// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
)

type Signing struct {
	Present bool
	// Status is nil before the zone is signed.
	Status *protocol.DNSSECStatus
	// KeyOwner is "" for keys added by hand.
	KeyOwner string
	DS       []protocol.DSRecord
}

const maxKeys = 64

func (c *Client) acquireAgent(ctx context.Context) (leave func(), err error) {
	leave, speaks, err := c.acquireSlot(ctx)
	// acquireSlot has succeeded, so the slot must be left here.
	if err == nil && !speaks.agent {
		leave()
		return nil, unsupported("%s is a bindcar, which does not say how far a rollover is; give the signer Kubizone's agent", c.url)
	}
	return leave, err
}

// ReadSigning returns a zone's signing state; zero if the server lacks the zone.
func (c *Client) ReadSigning(ctx context.Context, zone name.Name) (Signing, error) {
	leave, err := c.acquireAgent(ctx)
	if err != nil {
		return Signing{}, err
	}
	defer leave()
	var status protocol.ZoneResponse
	switch err := c.sendRequest(ctx, http.MethodGet, zonePath(zone)+"/status", nil, &status); {
	case statusOf(err) == http.StatusNotFound:
		return Signing{}, nil
	case err != nil:
		return Signing{}, err
	}
	signing := Signing{Present: true, Status: status.DNSSEC, KeyOwner: status.KeyOwner}
	if signing.Status == nil {
		return signing, nil
	}
	var ds protocol.DS
	// 404: named has no DNSKEY of the zone yet, so there is no DS.
	if err := c.sendRequest(ctx, http.MethodGet, zonePath(zone)+"/ds", nil, &ds); err != nil && statusOf(err) != http.StatusNotFound {
		return Signing{}, err
	}
	// The controller compares each key with each DS, so a hostile agent must not name thousands.
	if keys, records := len(signing.Status.Keys), len(ds.Records); max(keys, records) > maxKeys {
		return Signing{}, &Error{Message: fmt.Sprintf("%s answers with %d keys and %d DS of zone %s, and %d are the most; "+
			"look at the keys of the zone there", c.url, keys, records, zone, maxKeys)}
	}
	signing.DS = ds.Records
	return signing, nil
}

// CheckDS tells named that all servers of the parent have the DS of a key (protocol.DSPublished), or none has
// (DSWithdrawn). named's delays begin then.
func (c *Client) CheckDS(ctx context.Context, zone name.Name, keyTag uint16, state string) error {
	leave, err := c.acquireAgent(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return c.sendRequest(ctx, http.MethodPost, zonePath(zone)+"/dnssec/checkds", protocol.CheckDS{KeyTag: keyTag, DS: state}, nil)
}

func (c *Client) Notify(ctx context.Context, zone name.Name) error {
	leave, err := c.acquireAgent(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return c.sendRequest(ctx, http.MethodPost, zonePath(zone)+"/notify", nil, nil)
}

// ListZones returns the zones made through the agent. Zones of named.conf are not among them.
func (c *Client) ListZones(ctx context.Context) ([]name.Name, error) {
	leave, err := c.acquireAgent(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var list protocol.ZoneList
	if err := c.sendRequest(ctx, http.MethodGet, zonesPath, nil, &list); err != nil {
		return nil, err
	}
	zones := make([]name.Name, len(list.Zones))
	for i, text := range list.Zones {
		if zones[i], err = name.Parse(strings.TrimSuffix(text, ".") + "."); err != nil {
			return nil, &Error{Message: c.url + " does not answer as an agent does", Err: err}
		}
	}
	return zones, nil
}

// RemoveIfOwned removes a zone, but not its keys, if isOwner returns true for the owner of the keys ("" for keys added
// by hand).
func (c *Client) RemoveIfOwned(ctx context.Context, zone name.Name, isOwner func(owner string) bool, fence Fence) error {
	leave, err := c.acquireAgent(ctx)
	if err != nil {
		return err
	}
	defer leave()
	var status protocol.ZoneResponse
	err = c.sendRequest(ctx, http.MethodGet, zonePath(zone)+"/status", nil, &status)
	if statusOf(err) == http.StatusNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if !isOwner(status.KeyOwner) {
		return nil
	}

	if err := fence(ctx); err != nil {
		return err
	}
	// The agent refuses if the zone has keys of another owner by now.
	err = c.sendRequest(ctx, http.MethodDelete, zonePath(zone)+"?keyOwner="+url.QueryEscape(status.KeyOwner), nil, nil)
	if statusOf(err) == http.StatusNotFound {
		return nil
	}
	return err
}

// RemoveWithKeys deletes a zone and its DNSSEC keys. Without the zone at the server, leftover keys are deleted too, and
// the error is nil.
func (c *Client) RemoveWithKeys(ctx context.Context, zone name.Name, fence Fence) error {
	leave, err := c.acquireAgent(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := fence(ctx); err != nil {
		return err
	}
	if err := c.sendRequest(ctx, http.MethodDelete, zonePath(zone)+"?keys=remove", nil, nil); statusOf(err) != http.StatusNotFound {
		return err
	}
	return nil
}
