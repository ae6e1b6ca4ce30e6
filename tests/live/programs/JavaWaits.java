// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Threads that wait in methods of their own, which are compiled by then.  JavaWaits TRUTH COUNT: says "ready", and on a line
// from its input each thread waits COUNT times; a line of the truth has the thread, its methods from the outermost, how
// often it waited and for how long by its own clock.  Then it says "done", and ends on the next line.  "Sleeper" sleeps all the time.
import java.io.*;
import java.net.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.locks.LockSupport;

class JavaWaits {
    static final int WARM = 30000, WARM_WAITS = 300;     // the JVM compiles what was called 200 times
    static int count;
    static final Object monitor = new Object();
    static final SynchronousQueue<Integer> queue = new SynchronousQueue<>();
    static volatile boolean isOver;
    static Socket reader, writer;
    static long sum;

    static void pause(int ms) throws Exception { Thread.sleep(ms); }

    static void napInner(boolean really) throws Exception { if (really) Thread.sleep(4); else sum++; }
    static void napOuter(boolean really) throws Exception { napInner(really); }

    static void lockInner(boolean really) throws Exception { if (really) synchronized (monitor) { sum++; } else sum++; }
    static void lockOuter(boolean really) throws Exception { lockInner(really); }

    static void parkInner(boolean really) throws Exception { if (really) LockSupport.parkNanos(3_000_000); else sum++; }
    static void parkOuter(boolean really) throws Exception { parkInner(really); }

    static void takeInner(boolean really) throws Exception { if (really) queue.take(); else sum++; }
    static void takeOuter(boolean really) throws Exception { takeInner(really); }

    static void readInner(boolean really) throws Exception { if (really) reader.getInputStream().read(); else sum++; }
    static void drain() throws Exception { reader.getInputStream().skip(reader.getInputStream().available()); }
    static void readOuter(boolean really) throws Exception { readInner(really); }

    static void sleptInner() throws Exception { Thread.sleep(3_600_000); }
    static void sleptOuter() throws Exception { sleptInner(); }

    interface Waits { void once(boolean really) throws Exception; }

    static final List<String> truth = Collections.synchronizedList(new ArrayList<>());
    static CountDownLatch warm, go, done;

    static void waits(String name, Waits outer) {
        new Thread(() -> {
            try {
                for (int i = 0; i < WARM; i++)
                    outer.once(false);
                for (int i = 0; i < WARM_WAITS; i++) {
                    drain();
                    outer.once(true);
                    pause(1);
                }
                warm.countDown();
                go.await();
                long spent = 0;
                for (int i = 0; i < count; i++) {
                    drain();
                    long begin = System.nanoTime();
                    outer.once(true);
                    spent += System.nanoTime() - begin;
                    pause(1);
                }
                truth.add("{\"thread\": \"" + name + "\", \"chain\": [\"JavaWaits." + name + "Outer\", \"JavaWaits." + name
                          + "Inner\"], \"count\": " + count + ", \"ns\": " + spent + "}");
                done.countDown();
                Thread.sleep(3_600_000);
            } catch (Exception e) {
                e.printStackTrace();
                System.exit(1);
            }
        }, name).start();
    }

    static void helps(String name, Callable<Object> work) {
        Thread thread = new Thread(() -> {
            try {
                while (!isOver)
                    work.call();
            } catch (Exception e) {
                System.exit(1);
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] words) throws Exception {
        count = Integer.parseInt(words[1]);
        warm = new CountDownLatch(5);
        done = new CountDownLatch(5);
        go = new CountDownLatch(1);
        ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        reader = new Socket(server.getInetAddress(), server.getLocalPort());
        writer = server.accept();
        helps("holder", () -> { synchronized (monitor) { pause(10); } pause(1); return null; });
        helps("offers", () -> { pause(4); queue.offer(1); return null; });
        helps("writer", () -> { pause(4); writer.getOutputStream().write(1); return null; });
        waits("nap", JavaWaits::napOuter);
        waits("lock", JavaWaits::lockOuter);
        waits("park", JavaWaits::parkOuter);
        waits("take", JavaWaits::takeOuter);
        waits("read", JavaWaits::readOuter);
        Thread sleeper = new Thread(() -> { try { sleptOuter(); } catch (Exception e) { } }, "Sleeper");
        sleeper.start();
        warm.await();
        Thread.sleep(1000);     // until the compiler is through
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        input.readLine();
        go.countDown();
        done.await();
        isOver = true;
        try (PrintWriter file = new PrintWriter(words[0])) {
            for (String line : truth)
                file.println(line);
        }
        System.out.println("done");
        input.readLine();
        System.exit(0);
    }
}
