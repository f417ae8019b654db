// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	"kubi.zone/kubizone/cmd/kubizone/delivering"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/bind9/agents"
	"kubi.zone/kubizone/pkg/bind9/signing"
	"kubi.zone/kubizone/pkg/delivery/controller/class"
	"kubi.zone/kubizone/pkg/delivery/controller/transferclass"
	"kubi.zone/kubizone/pkg/delivery/controller/updatekey"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/kit/traces"
	"kubi.zone/kubizone/pkg/kit/version"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

// startController starts the controller, the classes and keys of the hidden primary, and the signer as a part. It
// returns when the primary has read classes and keys: after "ready", secondaries are admitted.
func (c *Config) startController(ctx context.Context, all *parts, kubeconfig string, server *apiserver.Server, zones *zoneview.Set,
	dns *primary.Primary, updates *updatekey.Poster) error {
	reach, err := clientFor(kubeconfig, "kubizone-controller")
	if err != nil {
		return err
	}
	reach.QPS = -1 // the server limits the rate
	// Decoding a million Records from JSON would delay the start.
	reach.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	own := class.WithoutWaiting(reach)
	if c.Traces != nil {
		own.Wrap(traces.Transport)
	}
	client, err := versioned.NewForConfig(own)
	if err != nil {
		return err
	}

	// 1. Objects for all parts below.
	informers := externalversions.NewSharedInformerFactory(client, 0)
	secrets := secrets.Directory(c.SecretsDir)
	members := transferclass.NewMembers(client.KubizoneV1alpha1().RESTClient())
	// Nothing waits for this factory's informers.
	fleet := externalversions.NewSharedInformerFactory(client, 0)
	servers := transferclass.NewServers(fleet)
	known := agents.New(secrets)
	agents.NewMetrics(server.Registry(), known)
	sources := delivering.Sources{
		Members: members, Views: zones, Client: client, Servers: servers, Zones: informers.Kubizone().V1alpha1().Zones().Lister(),
		Agents: known, Secrets: secrets, Keys: &transferclass.Keys{},
	}

	// 2. The controller, which delivers zones to the classes.
	controller, err := class.New(class.Config{
		Identity: "up_" + string(uuid.NewUUID()), Client: client, Informers: informers, Views: zones,
		Providers: sources.Constructors(), Servers: sources.ListServers, Secrets: secrets, Registry: server.Registry(),
		Clusters:       fleet.Bind9().V1alpha1().Bind9Clusters(),
		HealthInterval: c.Retries.HealthInterval, Backoff: c.Retries.Backoff, Traces: c.Traces,
	})
	if err != nil {
		return err
	}

	// classes and keys admit secondaries and dynamic updates to the hidden primary.
	api := informers.Kubizone().V1alpha1()
	classes, err := transferclass.New(transferclass.Config{
		Primary: dns, Members: members, Classes: api.DNSClasses(), Zones: api.Zones(), Client: client, Secrets: secrets, Servers: servers,
		GeneralKeys: c.Keys,
		OnJoin:      func(cache.ObjectName) {}, // every zone is served here
	})
	if err != nil {
		return err
	}

	keys, err := updatekey.New(updatekey.Config{Primary: dns, Poster: updates, Keys: api.UpdateKeys(), Client: client, Secrets: secrets,
		WaitFirst: classes.WaitForSync})
	if err != nil {
		return err
	}

	// 3. Dynamic updates write through the server's loopback connection, with an administrator's rights.
	loopback := server.Loopback()
	loopback.UserAgent = reach.UserAgent
	near, err := typed.NewForConfig(loopback)
	if err != nil {
		return err
	}
	updates.Connect(near.RESTClient())

	// 4. The signer, for zones with spec.dnssec.
	signer, err := signing.New(signing.Config{
		Client: client, Zones: api.Zones(), Deliveries: api.Deliveries(), Classes: api.DNSClasses(), InForce: controller.InForce,
		Holder: members.HolderAmong, Views: zones,
		Servers: servers, Agents: known, Secrets: secrets, ParentServers: c.ParentServers, Now: time.Now,
		Registry: server.Registry(),
	})
	if err != nil {
		return err
	}

	// 5. Run all as a single part, which ends before the API.
	all.startPart(ctx, "controller", func(ctx context.Context) error {
		var running sync.WaitGroup
		defer running.Wait()
		defer informers.Shutdown()
		informers.StartWithContext(ctx)
		defer fleet.Shutdown()
		fleet.StartWithContext(ctx)
		running.Go(func() { members.Run(ctx) })
		running.Go(func() { classes.Run(ctx) })
		running.Go(func() { keys.Run(ctx) })
		running.Go(func() { signer.Run(ctx) })
		// Before, the names in use are unknown.
		if err := members.WaitForSync(ctx); err != nil {
			return err
		}
		return controller.Run(ctx)
	})

	if err := all.runDuring(ctx, classes.WaitForSync); err != nil {
		return err
	}
	return all.runDuring(ctx, keys.WaitForSync)
}

func clientFor(kubeconfig, agent string) (*rest.Config, error) {
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		return nil, err
	}
	client.UserAgent = version.UserAgent(agent)
	return client, nil
}
