-- The fence of a job: decides which attempt at each of its parts may send.
--
-- The latest run of a job holds the fence. Of the attempts at a part of that run, the one with the
-- highest number holds the part.
--
-- KEYS[1]  a hash: run             the run that holds the fence
--                  until           the time, in seconds, when all requests of earlier runs have ended
--                  attempt:<part>  the number of the attempt that holds the part
--                  open:<part>     1 until that attempt has ended normally
--                  until:<part>    the time when all requests of its predecessors have ended
-- KEYS[2]  the earlier runs, by the time at which they lost the fence
-- ARGV     take, check or release; run; part; number of the attempt; the longest duration of a
--          request, in seconds; 1 if the part was certainly attempted before; how long to keep all this
--
-- Returns `held` and, as a string, the seconds to wait before the first request; or why this attempt
-- may send no more: `run` or `attempt` if another one has superseded it, `lost` if it is unknown.

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

-- The parts of an earlier run are reduced to the time at which all its requests have ended.
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
  -- At most the duration of a request, even if the server's clock was set back.
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
