// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package noderig

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kubi.zone/kubizone/test/rig"
)

// impatience is the longest interval for an unready container, as in a kubelet.
const impatience = 500 * time.Millisecond

func (c *container) probeProcess(ctx context.Context, process *rig.Process) {
	if of := c.spec.StartupProbe; of != nil {
		failures := 0
		for !c.waitAndProbe(ctx, of, impatience) {
			if ctx.Err() != nil {
				return
			}
			if failures++; time.Duration(failures)*impatience > time.Duration(of.FailureThreshold*of.PeriodSeconds)*time.Second {
				process.End()
				return
			}
		}
		c.mu.Lock()
		c.started, c.ready = true, c.spec.ReadinessProbe == nil
		c.mu.Unlock()
	}
	if of := c.spec.LivenessProbe; of != nil {
		go func() {
			for failures := int32(0); failures < of.FailureThreshold; {
				if c.waitAndProbe(ctx, of, time.Duration(of.PeriodSeconds)*time.Second) {
					failures = 0
				} else if failures++; ctx.Err() != nil {
					return
				}
			}
			process.End()
		}()
	}
	if of := c.spec.ReadinessProbe; of != nil {
		pause := impatience
		for failures := int32(0); ctx.Err() == nil; {
			is := c.waitAndProbe(ctx, of, pause)
			if is {
				failures, pause = 0, time.Duration(of.PeriodSeconds)*time.Second
			} else if failures++; failures < of.FailureThreshold {
				continue
			}
			c.mu.Lock()
			c.ready = is && ctx.Err() == nil
			c.mu.Unlock()
		}
	}
}

func (c *container) waitAndProbe(ctx context.Context, of *corev1.Probe, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(of.TimeoutSeconds)*time.Second)
	defer cancel()
	return c.probeOnce(ctx, of) == nil
}

var probes = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

func (c *container) probeOnce(ctx context.Context, of *corev1.Probe) error {
	switch {
	case of.TCPSocket != nil:
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", c.addressOf(of.TCPSocket.Port))
		if err != nil {
			return err
		}
		return connection.Close()
	case of.HTTPGet != nil:
		scheme := strings.ToLower(string(of.HTTPGet.Scheme))
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+c.addressOf(of.HTTPGet.Port)+of.HTTPGet.Path, nil)
		if err != nil {
			return err
		}
		answer, err := probes.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode < 200 || answer.StatusCode >= 400 {
			return errors.New(answer.Status)
		}
		return nil
	}
	c.pod.node.reportFailure(fmt.Errorf("container %s: noderig has no probe of its kind", c.spec.Name))
	return errors.ErrUnsupported
}

func (c *container) addressOf(port intstr.IntOrString) string {
	number := port.IntValue()
	for _, one := range c.spec.Ports {
		if port.Type == intstr.String && one.Name == port.StrVal {
			number = int(one.ContainerPort)
		}
	}
	return net.JoinHostPort(c.pod.ip, strconv.Itoa(number))
}
