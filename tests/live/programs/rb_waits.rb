# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# Threads that wait in methods of their own.  rb_waits TRUTH COUNT: a line of the truth has the thread, its chain of
# methods and blocks from the outermost with the lines that they stand at, how often it waited and for how long.
require "json"

COUNT = ARGV[1].to_i
LINES = File.readlines(__FILE__).each_with_index.filter_map { |text, i| [$1, i + 1] if text =~ /# at: (.+)$/ }.to_h
TRUTH = []
GATE = Queue.new

def nap_inner
  sleep 0.004                                           # at: nap_inner
end

def nap_outer
  nap_inner                                             # at: nap_outer
end

class Reader
  def initialize
    @from, @to = IO.pipe
  end

  def inner
    @from.sysread(1)                                    # at: inner
  end

  def outer
    [1].each do |_|                                     # at: outer
      inner                                             # at: block in outer
    end
  end

  def feed
    sleep 0.005                                         # at: feed
    @to.syswrite("x")
  end
end

def long
  # more than 54 instructions before the one that waits: their lines lie in another part of Ruby's table
  a = [1, 2, 3, 4, 5, 6, 7, 8]
  b = a.map(&:to_s).join(",").length + a.first + a.last + a[1] + a[2] + a[3]
  c = a[0] + a[1] + a[2] + a[3] + a[4] + a[5] + a[6] + a[7] + b
  d = a[0] * a[1] * a[2] * a[3] * a[4] * a[5] * a[6] * a[7] * c
  raise "never" if b + c + d == 0
  IO.select([], [], [], 0.003)                          # at: long
end

LINE = Queue.new

def take
  LINE.pop                                              # at: take
end

def put
  sleep 0.004                                           # at: put
  LINE.push(1)
end

def run(chain, wait)
  GATE.pop
  spent = 0
  COUNT.times do                                        # at: run
    from = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    wait.call                                           # at: block in run
    spent += Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - from
  end
  TRUTH << { pid: Process.pid, tid: Thread.current.native_thread_id, slept: COUNT, spent_ns: spent,
             chain: ["block (2 levels) in <main>", "run", "block in run", *chain].map { |name| [name, LINES[name]] } }
end

READER = Reader.new
THREADS = [
  [%w[nap_outer nap_inner], method(:nap_outer)],
  [["outer", "block in outer", "inner"], READER.method(:outer)],
  [%w[feed], READER.method(:feed)],
  [%w[long], method(:long)],
  [%w[take], method(:take)],
  [%w[put], method(:put)],
].map do |chain, wait|
  Thread.new do
    run(chain, wait)                                    # at: block (2 levels) in <main>
  end
end
sleep 0.05
puts "ready #{Process.pid}"
$stdout.flush
$stdin.read(1)
THREADS.each { GATE.push(1) }
THREADS.each(&:join)
puts "done"
$stdout.flush
File.write(ARGV[0], TRUTH.map { |entry| JSON.generate(entry) + "\n" }.join)
$stdin.read(1)
