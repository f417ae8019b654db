// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/test/bench/figures"
)

// How many objects a server is started with.
const (
	withPopulation = "population"
	withBig        = "big"
)

// sizes measures memory and starts, with the population and then with many objects more.
func (s *stage) sizes(ctx context.Context, into *figures.Results) error {
	n := s.plan.Records
	if n == 0 {
		return nil
	}
	if _, err := s.resident(into, custom, s.kube.Pid(), withPopulation); err != nil {
		return err
	}
	if err := s.starts(ctx, into, withPopulation); err != nil {
		return err
	}
	s.say("%d objects of each kind", n)
	began := time.Now()
	if err := every(ctx, 4*many, n, func(ctx context.Context, i int) error {
		_, err := s.to(records).create(ctx, bigNamespace, bigName(i), i)
		return err
	}); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	into.Add("fill/Records", "/s", float64(n)/time.Since(began).Seconds())
	for _, other := range []struct {
		kind
		etcd string
	}{{flunders, s.sample.etcd.Endpoint}, {custom, s.kube.Etcd()}} {
		if err := clone(ctx, other.etcd, other.kind, n); err != nil {
			return fmt.Errorf("clone %s: %w", other.name, err)
		}
	}
	for _, k := range []kind{records, flunders, custom} {
		if err := s.to(k).knows(ctx, n); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	if _, err := s.resident(into, custom, s.kube.Pid(), withBig); err != nil {
		return err
	}
	return s.starts(ctx, into, withBig)
}

// ratio of a figure of the two aggregated servers.
var ratio = records.name + " ÷ " + flunders.name

func bigName(i int) string { return fmt.Sprintf("b-%06d", i) }

// starts stops and starts the aggregated servers in turn, and looks at the memory that each has once it is ready.
func (s *stage) starts(ctx context.Context, into *figures.Results, with string) error {
	for range fewestRounds {
		took, octets := map[string]float64{}, map[string]float64{}
		for _, one := range []struct {
			kind
			*backend
		}{{records, s.kubizone}, {flunders, s.sample}} {
			err := one.stop(ctx)
			if err != nil {
				return err
			}
			began := time.Now()
			if err := one.start(ctx); err != nil {
				return err
			}
			took[one.name] = time.Since(began).Seconds()
			into.Add("start/"+one.name+"/"+with, "s", took[one.name])
			if octets[one.name], err = s.resident(into, one.kind, one.server.Pid(), with); err != nil {
				return err
			}
		}
		into.Add("start/"+ratio+"/"+with, "×", took[records.name]/took[flunders.name])
		into.Add("resident/"+ratio+"/"+with, "×", octets[records.name]/octets[flunders.name])
	}
	return nil
}

func (s *stage) resident(into *figures.Results, k kind, pid int, with string) (float64, error) {
	time.Sleep(s.plan.Calm)
	octets, err := figures.Resident(pid, "VmRSS")
	if err == nil {
		into.Add("resident/"+k.name+"/"+with, "MB", float64(octets)/1e6)
	}
	return float64(octets), err
}

// clone writes an object of the population n times into etcd under other names: what takes a minute through an API
// server takes seconds, and the server sees the same.
func clone(ctx context.Context, endpoint string, k kind, n int) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: waitTimeout})
	if err != nil {
		return err
	}
	defer client.Close()
	const original = "p-00000"
	keys, err := client.Get(ctx, "/registry/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return err
	}
	for _, kv := range keys.Kvs {
		key := string(kv.Key)
		if !strings.HasSuffix(key, "/"+populationNamespace+"/"+original) || !strings.Contains(key, k.resource) {
			continue
		}
		stored, err := client.Get(ctx, key)
		if err != nil {
			return err
		}
		value := stored.Kvs[0].Value
		_, after, _ := bytes.Cut(value, []byte(`"uid":"`))
		uid, _, found := bytes.Cut(after, []byte(`"`))
		if !found {
			return errors.New("etcd holds no JSON")
		}
		prefix := strings.TrimSuffix(key, populationNamespace+"/"+original)
		return every(ctx, 4*many, n, func(ctx context.Context, i int) error {
			one := bytes.ReplaceAll(value, []byte(original), []byte(bigName(i)))
			one = bytes.ReplaceAll(one, uid, []byte(uuid.NewUUID()))
			one = bytes.Replace(one, []byte(`"namespace":"`+populationNamespace), []byte(`"namespace":"`+bigNamespace), 1)
			_, err := client.Put(ctx, prefix+bigNamespace+"/"+bigName(i), string(one))
			return err
		})
	}
	return fmt.Errorf("etcd has no %s %s", k.resource, original)
}

// knows waits until the server's cache has all objects.
func (a *arm) knows(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	for {
		_, err := a.initial(ctx, bigNamespace, n, 1)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}
