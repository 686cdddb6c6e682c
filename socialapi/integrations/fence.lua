-- The fence of a job: which attempt at each of its parts may send.
--
-- Of the runs of a job the one that came last has it, and of the attempts at a part of that run the
-- one with the highest number.
--
-- KEYS[1]  a hash: run             which run has the job
--                  until           when the last request of earlier runs has ended for sure, in seconds
--                  attempt:<part>  the number of the attempt that has the part
--                  open:<part>     1 until that attempt has ended in order
--                  until:<part>    when the last request of its predecessors has ended for sure
-- KEYS[2]  the earlier runs, by the time at which they lost the job
-- ARGV     take, check or release; run; part; number of the attempt; how long a request takes at
--          most, in seconds; 1 if the part was surely attempted before; how long all of this is kept
--
-- Returns `held` and the seconds to wait before the first request, as text; or why this attempt may
-- send no more: `run` or `attempt` if another one has superseded it, `lost` if nothing is known of it.

local FENCE, EARLIER = KEYS[1], KEYS[2]
local verb, run, part = ARGV[1], ARGV[2], ARGV[3]
local number, request_seconds, is_repeated, kept_seconds =
  tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1', tonumber(ARGV[7])

local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000

local function get(name)
  return redis.call('HGET', FENCE, name)
end

local function set(name, value)
  redis.call('HSET', FENCE, name, value)
end

local function exact(seconds)
  return string.format('%.6f', seconds)
end

local function time_of(name)
  return tonumber(get(name) or 0)
end

-- What is known of the parts of an earlier run becomes one time: when all of its requests have ended.
local function take_over(earlier)
  redis.call('ZADD', EARLIER, exact(now), earlier)
  local ended = time_of('until')
  for _, name in ipairs(redis.call('HKEYS', FENCE)) do
    if name:sub(1, 5) == 'open:' and get(name) == '1' then
      ended = math.max(ended, now + request_seconds)
    elseif name:sub(1, 6) == 'until:' then
      ended = math.max(ended, time_of(name))
    end
  end
  redis.call('DEL', FENCE)
  set('until', exact(ended))
end

local function take()
  if redis.call('ZSCORE', EARLIER, run) then
    return { 'run', '0' }
  end
  local holder = get('run')
  if holder and holder ~= run then
    take_over(holder)
  end
  set('run', run)
  local former = tonumber(get('attempt:' .. part) or -1)
  if former > number then
    return { 'attempt', '0' }
  end
  local is_open = get('open:' .. part) == '1' and former ~= number
  if is_open or (former < 0 and is_repeated) then
    set('until:' .. part, exact(now + request_seconds))
  end
  set('attempt:' .. part, number)
  set('open:' .. part, 1)
  local seconds = math.max(0, time_of('until') - now, time_of('until:' .. part) - now)
  -- No longer than a request takes, also when the clock of the server was set back meanwhile.
  return { 'held', exact(math.min(seconds, request_seconds)) }
end

local function check()
  local holder, attempt = get('run'), tonumber(get('attempt:' .. part) or -1)
  if redis.call('ZSCORE', EARLIER, run) then
    return { 'run', '0' }
  elseif holder ~= run or attempt < number then
    return { 'lost', '0' }
  elseif attempt > number then
    return { 'attempt', '0' }
  end
  return { 'held', '0' }
end

local answer
if verb == 'take' then
  answer = take()
else
  answer = check()
  if verb == 'release' and answer[1] == 'held' then
    set('open:' .. part, 0)
  end
end
redis.call('EXPIRE', FENCE, kept_seconds)
redis.call('ZREMRANGEBYSCORE', EARLIER, '-inf', exact(now - kept_seconds))
redis.call('EXPIRE', EARLIER, kept_seconds)
return answer
