// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package noderig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/test/rig"
)

const programDir = "/opt/image"

const longestPause = 30 * time.Second

type container struct {
	pod  *pod
	spec *corev1.Container
	// stop ends the container for good; then stopped is closed.
	stop, stopped chan struct{}

	mu             sync.Mutex
	process        *rig.Process
	since          metav1.Time
	started, ready bool
	restarts       int
	former         string
	mounted        []string
}

func (c *container) readStatus() corev1.ContainerStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	status := corev1.ContainerStatus{
		Name: c.spec.Name, Image: c.spec.Image, ImageID: c.spec.Image, Ready: c.ready, Started: &c.started, RestartCount: int32(c.restarts),
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
	}
	if c.process != nil {
		status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: c.since}}
	}
	return status
}

func (c *container) readLog() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return c.former
	}
	return c.former + c.process.Log()
}

func (c *container) superviseProcess() {
	defer close(c.stopped)
	for pause := time.Second; ; pause = min(2*pause, longestPause) {
		process, err := c.startProcess()
		if errors.As(err, new(*missing)) { // of an environment variable
			c.unmountAll()
			select {
			case <-c.stop:
				return
			case <-time.After(look):
			}
			continue
		}
		if err != nil {
			c.pod.node.reportFailure(fmt.Errorf("container %s/%s/%s: %w", c.pod.object.Namespace, c.pod.object.Name, c.spec.Name, err))
			return
		}
		c.mu.Lock()
		c.process, c.since, c.started, c.ready = process, metav1.Now(), c.spec.StartupProbe == nil, c.spec.StartupProbe == nil && c.spec.ReadinessProbe == nil
		c.mu.Unlock()
		probing, end := context.WithCancel(c.pod.node.ctx)
		go c.probeProcess(probing, process)
		select {
		case <-process.Ended():
		case <-c.stop:
		}
		end()
		c.mu.Lock()
		if c.ready {
			pause = time.Second
		}
		c.ready = false
		c.mu.Unlock()
		select {
		case <-c.stop:
			return
		case <-process.Ended():
		}
		c.mu.Lock()
		c.process, c.former = nil, c.former+process.Log()+fmt.Sprintf("ended: %v\n", process.Err())
		c.restarts++
		c.mu.Unlock()
		killOthers(process)
		c.unmountAll()
		select {
		case <-c.stop:
			return
		case <-time.After(pause):
		}
	}
}

func (c *container) endProcess(ctx context.Context) {
	if hooks := c.spec.Lifecycle; hooks != nil && hooks.PreStop != nil {
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(hooks.PreStop.Sleep.Seconds) * time.Second):
		}
	}
	close(c.stop)
	<-c.stopped
	c.mu.Lock()
	process := c.process
	c.mu.Unlock()
	if process == nil {
		return
	}
	if ctx.Err() == nil {
		process.Signal(syscall.SIGTERM)
	}
	select {
	case <-process.Ended():
	case <-ctx.Done():
		process.Kill()
	}
	killOthers(process)
}

// A container ends with its first process.
func killOthers(process *rig.Process) { _ = syscall.Kill(-process.Pid(), syscall.SIGKILL) }

func (c *container) startProcess() (*rig.Process, error) {
	if err := c.makeRoot(); err != nil {
		return nil, err
	}
	arguments := append(slices.Clone(c.spec.Command), c.spec.Args...)
	if len(c.spec.Command) == 0 {
		arguments = append([]string{path.Join(programDir, c.readImage())}, c.spec.Args...)
	}
	command, err := c.makeCommand(arguments)
	if err != nil {
		return nil, err
	}
	var process *rig.Process
	err = c.pod.inNetwork(func() (err error) {
		process, err = rig.StartCommand(command)
		return err
	})
	return process, err
}

func (c *container) makeCommand(arguments []string) (*exec.Cmd, error) {
	spec := &c.pod.object.Spec
	environment, err := c.pod.readEnvironment(c.spec)
	if err != nil {
		return nil, err
	}
	program := arguments[0]
	if !path.IsAbs(program) {
		if program, err = rig.Find(program, "the image "+c.spec.Image); err != nil {
			return nil, err
		}
	}
	command := &exec.Cmd{Path: program, Args: slices.Clone(arguments), Dir: "/"}
	for _, one := range environment {
		command.Env = append(command.Env, one.Name+"="+one.Value)
		for i := range command.Args {
			command.Args[i] = strings.ReplaceAll(command.Args[i], "$("+one.Name+")", one.Value)
		}
	}
	c.pod.node.mu.Lock()
	command.Env = append(command.Env, c.pod.node.variables[c.pod.object.Namespace+"/"+c.spec.Name]...)
	c.pod.node.mu.Unlock()
	user, group, further := userOf(spec, c.spec)
	// A non-root process gains no capability without set-user-ID.
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: c.findRoot(), Credential: &syscall.Credential{Uid: user, Gid: group,
		Groups: further}}
	return command, nil
}

func (c *container) readImage() string {
	name, _, _ := strings.Cut(c.spec.Image, "@")
	name, _, _ = strings.Cut(path.Base(name), ":")
	return name
}

func (c *container) findRoot() string { return filepath.Join(c.pod.dir, c.spec.Name, "root") }

func (c *container) makeRoot() error {
	// A process forked now would inherit files open for writing until exec, and keep a mount from becoming read-only.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	dir := filepath.Join(c.pod.dir, c.spec.Name)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, one := range []string{"root", "upper", "work"} {
		if err := os.MkdirAll(filepath.Join(dir, one), 0o755); err != nil {
			return err
		}
	}
	root := c.findRoot()
	layers := "lowerdir=/,upperdir=" + filepath.Join(dir, "upper") + ",workdir=" + filepath.Join(dir, "work")
	if err := c.mountAt("overlay", "", "overlay", syscall.MS_NOSUID, layers); err != nil {
		return err
	}
	for _, one := range []string{"/proc", "/dev"} {
		if err := c.mountAt(one, one, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
			return err
		}
	}
	files := map[string]string{
		"etc/resolv.conf": resolverOf(c.pod.object.Namespace),
		"etc/hosts":       "127.0.0.1 localhost\n" + c.pod.ip + " " + c.pod.object.Name + "\n",
	}
	for file, text := range files {
		if err := os.Remove(filepath.Join(root, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o644); err != nil {
			return err
		}
	}
	switch program := here.Programs[c.readImage()]; {
	case program != "":
		if err := c.mountAt(program, path.Join(programDir, c.readImage()), "", syscall.MS_BIND, ""); err != nil {
			return err
		}
	case len(c.spec.Command) == 0:
		return fmt.Errorf("no program stands for the image %s", c.spec.Image)
	}
	for _, one := range c.spec.VolumeMounts {
		if err := c.mountAt(filepath.Join(c.pod.volumes[one.Name], one.SubPath), one.MountPath, "", syscall.MS_BIND, ""); err != nil {
			return err
		}
		if one.ReadOnly {
			if err := c.remountReadOnly(one.MountPath); err != nil {
				return err
			}
		}
	}
	if ptr.Deref(ptr.Deref(c.spec.SecurityContext, corev1.SecurityContext{}).ReadOnlyRootFilesystem, false) {
		return c.remountReadOnly("")
	}
	return nil
}

func (c *container) mountAt(source, target, kind string, flags uintptr, options string) error {
	at := c.inRoot(target)
	info, err := os.Stat(source)
	switch {
	case target == "":
	case err != nil:
		return err
	case info.IsDir():
		err = os.MkdirAll(at, 0o755)
	default:
		if err = os.MkdirAll(filepath.Dir(at), 0o755); err == nil {
			err = os.WriteFile(at, nil, 0o755)
		}
	}
	if target != "" && err != nil {
		return err
	}
	if err := syscall.Mount(source, at, kind, flags, options); err != nil {
		return fmt.Errorf("mounting %s: %w", at, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mounted = append(c.mounted, at)
	return nil
}

func (c *container) remountReadOnly(target string) error {
	return syscall.Mount("", c.inRoot(target), "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY|syscall.MS_NOSUID, "")
}

// The link /var/run would lead out of the root.
func (c *container) inRoot(target string) string {
	if below, is := strings.CutPrefix(target, "/var/run/"); is {
		target = "/run/" + below
	}
	return filepath.Join(c.findRoot(), target)
}

// A busy mount disappears with the last process.
func (c *container) unmountAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.mounted) - 1; i >= 0; i-- {
		_ = syscall.Unmount(c.mounted[i], syscall.MNT_DETACH)
	}
	c.mounted = nil
}
