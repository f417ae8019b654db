// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	basetracing "k8s.io/component-base/tracing"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/cmd/kubizone/dnsserving"
	"kubi.zone/kubizone/cmd/kubizone/process"
	"kubi.zone/kubizone/cmd/kubizone/tracing"
	"kubi.zone/kubizone/pkg/apis/acme"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/client/load"
	"kubi.zone/kubizone/pkg/delivery/controller/updatekey"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/kit/heartbeat"
	"kubi.zone/kubizone/pkg/kit/memory"
	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/pkg/kit/terminal"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/zone/etcd/embed"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

const shownZones = 12

// Run runs all servers of kubizone up (the parts) until ctx ends or a part fails. Then it stops the parts, the last
// started first. If ctx has ended, the result has only errors of the stop.
func (c *Config) Run(ctx context.Context) error {
	for _, warning := range c.Warnings {
		c.printf("warning: %s", warning)
	}

	// Lock the data directory and bind the ports first, so that a taken port fails before etcd starts.
	dir, err := embed.OpenDir(c.DataDir, 0)
	if err != nil {
		return err
	}
	defer dir.Close()

	listener, err := process.BindPort("--listen", c.Listen.String())
	if err != nil {
		return err
	}
	defer listener.Close()

	spans, err := tracing.Open(ctx, c.Spans, "up")
	if err != nil {
		return err
	}
	defer tracing.Close(spans)
	c.Traces = spans

	// The API server fills zones, and the primary serves them. serveAll runs both.
	zones := zoneview.NewSet(zoneview.ConfigForMemory(memory.Total()))
	updates := &updatekey.Poster{}
	dns, err := c.Primary(zones, updates)
	if err != nil {
		return err
	}
	defer dns.Close()

	credentials, kubeconfig, err := c.makeCredentials(dir, listener.Addr().(*net.TCPAddr).AddrPort())
	if err != nil {
		return err
	}

	running := newParts()
	err = c.serveAll(ctx, running, dir, listener, zones, dns, updates, credentials, kubeconfig, spans)
	if ctx.Err() != nil {
		c.printf("stopping")
	} else {
		// Print before other output hides the error.
		c.printf("stopping: %v", err)
	}
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		err = nil // stopped on request
	}
	return errors.Join(err, running.stop())
}

// serveAll starts the parts in order, loads the files, prints "ready", and waits until ctx ends or a part fails. The
// caller stops the parts in all.
func (c *Config) serveAll(ctx context.Context, all *parts, dir *embed.Dir, listener net.Listener, zones *zoneview.Set, dns *primary.Primary,
	updates *updatekey.Poster, credentials *pki.Bundle, kubeconfig string, spans basetracing.TracerProvider) error {
	member, err := c.startEtcd(ctx, all, dir)
	if err != nil {
		return err
	}

	// 1. Storage: etcd, then the ledger, until all zones are checked against their hashes.
	server, err := apiserver.New(ctx, apiserver.Config{
		Listener:    listener,
		ServingCert: credentials.ServingCert,
		ServingKey:  credentials.ServingKey,
		ClientCA:    credentials.CA,
		Etcd:        storagebackend.TransportConfig{ServerList: member.Endpoints()},
		Zones:       zones,

		AllowInlineSecrets: c.AllowInlineSecrets,
		ACME:               apiserver.ACME{Serve: c.ACME, RecordsExpireAfter: acme.ChallengesExpireAfter},
		Fleet:              validation.FleetRules{Repositories: validation.DefaultImageRepositories},
		Parts:              []string{heartbeat.Controller, heartbeat.Primary},
		Traces:             spans,
	})
	if err != nil {
		return fmt.Errorf("data-dir %s: %w", dir.Path(), err)
	}

	all.startPart(ctx, "etcd clients", func(ctx context.Context) error { <-ctx.Done(); server.Close(); return nil })
	all.startPart(ctx, "ledger", server.RunLedger)
	if err := all.runDuring(ctx, server.WaitForViews); err != nil {
		return err
	}

	// 2. DNS before the API: after writing a Record, a client can ask for the name at once.
	dnsserving.NewMetrics(server.Registry(), dns)
	all.startPart(ctx, "dns", dns.Run)
	all.startPart(ctx, "api", server.Run)
	if err := all.runDuring(ctx, server.WaitForAPI); err != nil {
		return err
	}

	memory.SpareHeap()
	c.printf("API on https://%s, kubeconfig %s", listener.Addr(), kubeconfig)
	c.startClientsConsole(ctx, all, kubeconfig)
	if err := c.startController(ctx, all, kubeconfig, server, zones, dns, updates); err != nil {
		return err
	}

	// 3. The files of --load. A failed part ends the load.
	if err := all.runDuring(ctx, func(ctx context.Context) error { return c.loadAll(ctx, kubeconfig) }); err != nil {
		return err
	}
	if err := all.runDuring(ctx, func(ctx context.Context) error { return c.waitForLoaded(ctx, kubeconfig, zones) }); err != nil {
		return err
	}

	c.reportServed(zones, kubeconfig, dns.Addr())
	c.printf("ready: API on https://%s, DNS on %s (views %s)", listener.Addr(), dns.Addr(), views(c.DNSViews))
	return all.runDuring(ctx, func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) })
}

// startEtcd starts the etcd member in the data directory, as the first part. The error says if etcd has not started
// within two minutes.
func (c *Config) startEtcd(ctx context.Context, all *parts, dir *embed.Dir) (*embed.Member, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, fmt.Errorf("data-dir %s: etcd did not start within two minutes; "+
		"-v=4 shows what it does", dir.Path()))
	defer cancel()
	member, err := embed.Start(ctx, embed.Config{
		Dir: dir, QuotaBytes: c.QuotaBytes,
		Log:     func(line string) { klog.Warningf("etcd: %s", line) },
		Verbose: c.Verbosity > 3,
	})
	if err != nil {
		return nil, err
	}
	all.startPart(ctx, "etcd", func(ctx context.Context) error {
		defer member.Stop()
		select {
		case <-member.Failed():
			return member.Err()
		case <-ctx.Done():
			return nil
		}
	})
	return member, nil
}

// makeCredentials opens or creates the certificates of the data directory, and writes the administrator's kubeconfig.
// It returns the certificates and the path of the kubeconfig.
func (c *Config) makeCredentials(dir *embed.Dir, at netip.AddrPort) (*pki.Bundle, string, error) {
	bundle, err := pki.Open(filepath.Join(dir.Path(), "pki"), pki.Hosts(at.Addr().String()), time.Now())
	if err != nil {
		return nil, "", fmt.Errorf("data-dir %s: %w", dir.Path(), err)
	}
	// A client cannot connect to 0.0.0.0 or [::], but this machine has 127.0.0.1.
	if at.Addr().IsUnspecified() {
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
	}
	text, err := bundle.Kubeconfig("https://" + at.String())
	if err == nil {
		err = pki.WriteFile(c.kubeconfig(), text)
	}
	if err != nil {
		return nil, "", fmt.Errorf("data-dir %s: kubeconfig: %w", dir.Path(), err)
	}
	return bundle, c.kubeconfig(), nil
}

func (c *Config) kubeconfig() string { return filepath.Join(c.DataDir, "kubeconfig") }

// loadAll loads the files of --load through the API. A refused object is printed, and is no error. The error is set if
// the API fails, and ends kubizone up.
func (c *Config) loadAll(ctx context.Context, kubeconfig string) error {
	if len(c.Load) == 0 {
		return nil
	}
	client, err := clientFor(kubeconfig, "kubizone-up-load")
	if err != nil {
		return err
	}
	loader, err := load.New(load.Config{Client: client, Namespace: c.LoadNamespace,
		Report: func(line string) { c.printf("%s", line) }})
	if err != nil {
		return err
	}
	var total load.Result
	for _, source := range c.Load {
		one, err := loader.Load(ctx, source)
		if err != nil {
			return err
		}
		total.Add(one)
	}
	// A file not loaded may have the Records that seem superfluous: none is removed.
	doubt := ""
	if total.Failed > 0 {
		doubt = "not all files were loaded"
	}
	finished, err := loader.Finish(ctx, doubt)
	if err != nil {
		return err
	}
	total.Add(finished)
	if incomplete := total.Incomplete(); incomplete != "" {
		c.printf("warning: not everything is served as --load says it: %s: see above", incomplete)
	}
	return nil
}

const viewsTimeout = time.Minute

// waitForLoaded waits until DNS answers with the stored content of every zone, for viewsTimeout at most. Then it prints
// a warning, and only the end of ctx is an error.
func (c *Config) waitForLoaded(ctx context.Context, kubeconfig string, zones *zoneview.Set) error {
	if len(c.Load) == 0 {
		return nil
	}
	config, err := clientFor(kubeconfig, "kubizone-up-load")
	if err != nil {
		return err
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return err
	}
	written, err := client.KubizoneV1alpha1().Zones("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, viewsTimeout)
	defer cancel()
	for _, zone := range written.Items {
		// A zone without a serial is pending, and DNS has no content to wait for.
		for zone.Status.Serial != 0 && waiting.Err() == nil {
			if has, ok := zones.Settled(string(zone.UID)); ok && !serial.Serial(zone.Status.SettledSerial).Ahead(has.Serial()) {
				break
			}
			select {
			case <-waiting.Done():
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	if waiting.Err() != nil && ctx.Err() == nil {
		c.printf("warning: DNS does not yet answer with the stored content of every zone: kubectl kubizone status names the late zones")
	}
	return ctx.Err()
}

// reportServed prints the zones, the first shownZones of them, and commands to try.
func (c *Config) reportServed(zones *zoneview.Set, kubeconfig string, dns netip.AddrPort) {
	all := slices.SortedFunc(zones.All(), func(one, other *zoneview.Snapshot) int {
		return cmp.Or(strings.Compare(one.Zone().View, other.Zone().View), one.FQDN().Compare(other.FQDN()))
	})
	for i, zone := range all {
		if i == shownZones {
			c.printf("and %d more zones", len(all)-i)
			break
		}
		served := ""
		if !slices.Contains(c.DNSViews, zone.Zone().View) {
			served = ", not served by DNS"
		}
		c.printf("zone %s (view %s) of %s/%s: serial %d, %d entries%s", zone.FQDN(), views([]string{zone.Zone().View}),
			zone.Zone().Namespace, zone.Zone().Name, zone.Serial(), zone.EntryCount(), served)
	}
	if len(all) == 0 {
		c.printf("try: kubectl --kubeconfig %s get zones -A", kubeconfig)
	} else {
		one := all[0]
		// There may be thousands of zones.
		c.printf("try: kubectl --kubeconfig %s get records -n %s", kubeconfig, one.Zone().Namespace)
		c.printf("try: kubectl --kubeconfig %s get zone -n %s %s --subresource=entries", kubeconfig, one.Zone().Namespace, one.Zone().Name)
		c.printf("try: dig @%s -p %d %s AXFR", dns.Addr(), dns.Port(), one.FQDN())
	}
}

func (c *Config) printf(format string, arguments ...any) {
	_, _ = terminal.Fprintf(c.Out, format+"\n", arguments...)
}

func views(list []string) string {
	named := make([]string, len(list))
	for i, view := range list {
		if named[i] = view; view == "" {
			named[i] = "default"
		}
	}
	return strings.Join(named, ", ")
}
