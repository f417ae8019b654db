// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/load"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/zone/lawform"
)

type Result struct {
	Zone   string `json:"zone"`
	FQDN   string `json:"fqdn"`
	View   string `json:"view,omitempty"`
	Serial uint32 `json:"serial"`
	RRsets int    `json:"rrsets"`
	// Newest is the newest serial if changes are held back, and NotDelivered the reason of the condition Settled.
	Newest       uint32 `json:"newest,omitempty"`
	NotDelivered string `json:"notDelivered,omitempty"`

	Servers []Report `json:"servers"`
}

// Comparison compares the servers of a zone's Deliveries, and those of AddServer, with the delivered content.
type Comparison struct {
	Client versioned.Interface
	Zone   types.NamespacedName
	// Key signs the questions to servers of classes that the user may not read, nil for none.
	Key *transfer.Key
	// KeyOf returns the key by which a class knows its server, nil for none.
	KeyOf     func(ctx context.Context, class string, ref *v1alpha1.SecretReference) *transfer.Key
	Providers Providers
	// Remark gets a line for each object that cannot be read.
	Remark func(line string)
	// Progress is called before each server.
	Progress func(done, all int)

	servers   []askedServer
	providers []askedProvider
}

// Providers compares a zone by the provider of a class without name servers, such as a webhook.
type Providers interface {
	Has(of *v1alpha1.DNSClass) bool
	// Compare completes the report. An error means that the provider cannot compare, and says why.
	Compare(ctx context.Context, of *v1alpha1.DNSClass, truth *Zone, report *Report) error
}

// AddServer adds a server beside those of the Deliveries. address is HOST:PORT.
func (c *Comparison) AddServer(address string) {
	c.addServer(askedServer{address: address, key: c.Key})
}

// Run compares all servers with the delivered zone, one after another. The error is set if nothing can be compared, or
// after an interruption.
func (c *Comparison) Run(ctx context.Context) (*Result, error) {
	object, err := c.Client.KubizoneV1alpha1().Zones(c.Zone.Namespace).Get(ctx, c.Zone.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	rows, err := c.addDelivered(ctx, object)
	if err != nil {
		// No permission, or the server does not serve Deliveries.
		c.Remark(fmt.Sprintf("the Deliveries of the zone cannot be read: %v; --name-server names servers to ask", err))
	}
	if len(c.servers)+len(c.providers)+len(rows) == 0 {
		return nil, fmt.Errorf("zone %s has no Delivery that lists a server: name those to ask with --name-server", c.Zone)
	}
	truth, err := c.readDelivered(ctx)
	if err != nil {
		return nil, err
	}
	result := &Result{Zone: c.Zone.String(), FQDN: truth.FQDN.String(), View: object.Status.View}
	for i, server := range c.servers {
		c.Progress(i, len(c.servers)+len(c.providers))
		report := server.viewOf(truth.Zone).Compare(ctx, server.address, server.key)
		// The zone has changed since the read. A server still ahead then is reported.
		if report.State == Ahead {
			if truth, err = c.readDelivered(ctx); err != nil {
				return nil, err
			}
			report = server.viewOf(truth.Zone).Compare(ctx, server.address, server.key)
		}
		if server.label != "" {
			report.Server = server.label
		}
		if ctx.Err() != nil {
			return nil, c.interrupted(ctx, i)
		}
		result.Servers = append(result.Servers, report)
	}
	result.Serial, result.RRsets, result.Newest, result.NotDelivered = uint32(truth.Serial), truth.Len(), uint32(truth.newest), truth.why
	for i, one := range c.providers {
		c.Progress(len(c.servers)+i, len(c.servers)+len(c.providers))
		result.Servers = append(result.Servers, c.compareByProvider(ctx, one, object, truth.Zone))
		if ctx.Err() != nil {
			return nil, c.interrupted(ctx, len(c.servers)+i)
		}
	}
	result.Servers = append(result.Servers, rows...)
	return result, nil
}

func (c *Comparison) interrupted(ctx context.Context, done int) error {
	return fmt.Errorf("interrupted: %d of %d servers were compared, and nothing was changed (%w)", done, len(c.servers)+len(c.providers),
		context.Cause(ctx))
}

func (a askedServer) viewOf(truth *Zone) *Zone {
	switch {
	case a.guest:
		return truth.Guest()
	case a.signed:
		return truth.Signed()
	}
	return truth
}

type deliveredZone struct {
	*Zone
	newest serial.Serial
	why    string
}

// readDelivered returns the zone as servers should have it: the present entries, and for a held or unsettled zone
// without the changes after status.settledSerial.
func (c *Comparison) readDelivered(ctx context.Context) (*deliveredZone, error) {
	text, err := load.OpenEntries(ctx, c.Client, c.Zone)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	zone, err := Read(text)
	if err != nil {
		return nil, fmt.Errorf("entries of zone %s: %w", c.Zone, err)
	}
	// Read the Zone after the entries, so that an older settledSerial proves that the entries are held back.
	zones := c.Client.KubizoneV1alpha1()
	object, err := zones.Zones(c.Zone.Namespace).Get(ctx, c.Zone.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	settled := serial.Serial(object.Status.SettledSerial)
	// Everything is delivered.
	if settled == 0 || !zone.Serial.Ahead(settled) {
		return &deliveredZone{Zone: zone}, nil
	}
	var answer v1alpha1.ZoneChanges
	// Undo the undelivered changes, by the journal.
	if err := zones.RESTClient().Get().Namespace(c.Zone.Namespace).Resource("zones").Name(c.Zone.Name).SubResource("changes").
		Param("since", settled.String()).Param("until", zone.Serial.String()).Do(ctx).Into(&answer); err != nil {
		return nil, fmt.Errorf("zone %s is not settled, and its delivered content is unknown: changes since serial %s: %w", c.Zone,
			settled, err)
	}
	changes, err := lawform.Changes(answer.Changes)
	if err != nil {
		return nil, fmt.Errorf("changes of zone %s: %w", c.Zone, err)
	}
	d := &deliveredZone{Zone: zone.Undo(settled, changes), newest: zone.Serial}
	if condition := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionSettled); condition != nil {
		d.why = condition.Reason
	}
	return d, nil
}

// ParseAddress returns HOST:PORT, with port 53 if the text has none.
func ParseAddress(text string) (string, error) {
	if at, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return net.JoinHostPort(at.String(), "53"), nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port, err = net.SplitHostPort(text + ":53")
	}
	if err != nil || host == "" || port == "" {
		return "", fmt.Errorf("%q: write 192.0.2.53, 192.0.2.53:5353, [2001:db8::53]:5353 or ns.example.org", text)
	}
	return net.JoinHostPort(host, port), nil
}
